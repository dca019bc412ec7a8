// `npm run build`: installs what is missing and builds every package, without starting anything.
import { argv } from 'node:process'
import { fileURLToPath } from 'node:url'
import { install, withPnpm } from './install.mjs'
import { endAll, onEnd } from './processes.mjs'

/** Installs and builds; unchanged packages come from turbo's cache. */
export async function build() {
  await install()
  console.log('Building …')
  await withPnpm('node_modules/.bin/turbo run build --ui=stream --output-logs=new-only')
}

if (argv[1] === fileURLToPath(import.meta.url)) {
  onEnd(async () => {
    await endAll()
    process.exit(1)
  })
  try {
    await build()
    process.exit(0)
  } catch (error) {
    console.error(`\nThe build failed: ${error.message}`)
    process.exit(1)
  }
}
