// `npm run build`: installs what is missing and builds every package, without starting anything.
import { join } from 'node:path'
import { argv, execPath } from 'node:process'
import { fileURLToPath } from 'node:url'
import { install, root, withPnpm } from './install.mjs'
import { endAll, onEnd, run } from './processes.mjs'

/**
 * Installs, builds the packages, of which unchanged ones come from turbo's cache, and compiles the engine's addon at the same time.
 * @param whenBuilt does what needs the packages but not the addon
 */
export async function build(whenBuilt = () => {}) {
  await install()
  console.log('Building …')
  const packages = withPnpm('node_modules/.bin/turbo run build --ui=stream --output-logs=new-only')
  const addon = run(execPath, ['build-addon.mjs'], { cwd: join(root, 'packages', 'engine-revm') })
  await Promise.all([packages.then(whenBuilt), addon])
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
