import { fileURLToPath } from 'node:url'

/** Path of the built program of an app, such as `apps/billing`. With `BUNDLED` set, as in `npm test`, its bundle, which starts faster. */
export function builtProgram(folder: string): string {
  const file = process.env.BUNDLED === undefined ? 'main.js' : 'bundle.js'
  return fileURLToPath(new URL(`../../../${folder}/dist/${file}`, import.meta.url))
}
