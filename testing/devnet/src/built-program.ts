import { fileURLToPath } from 'node:url'

/** The file to start of an app that is built, `apps/billing` say. With `BUNDLED` set, as `npm test` does, its bundle, which starts sooner. */
export function builtProgram(folder: string): string {
  const file = process.env.BUNDLED === undefined ? 'main.js' : 'bundle.js'
  return fileURLToPath(new URL(`../../../${folder}/dist/${file}`, import.meta.url))
}
