import { readFile } from 'node:fs/promises'
import { join, relative } from 'node:path'
import { build } from 'esbuild'
import { root } from './install.mjs'

/** Stay files of their own: what tests change before the program starts, and what loads OpenTelemetry where spans are sent. */
const APART = /\/(environment\/fixed|export-spans)\.js$/

/**
 * Makes one file, dist/bundle.js, of an app's dist/main.js and all that it imports: it starts on a third of the CPU time. It works in this
 * repository alone, for it finds packages' files where they are now.
 */
export async function bundle(folder) {
  const dist = join(root, folder, 'dist')
  const fromBundle = (path) => relative(dist, path).replace(/^(?!\.)/, './')
  const setup = ({ onLoad, onResolve, resolve }) => {
    onResolve({ filter: APART }, ({ path, resolveDir }) => ({
      path: fromBundle(join(resolveDir, path)),
      external: true,
    }))
    // What is not installed is optional: who imports it catches that.
    onResolve({ filter: /^[^./]/ }, async ({ path, pluginData, ...from }) => {
      if (pluginData === resolve || from.kind === 'import-statement') return
      const { errors } = await resolve(path, { ...from, pluginData: resolve })
      if (errors.length > 0) return { path, external: true }
    })
    // A module finds the files beside it by its own address.
    onLoad({ filter: /\.m?js$/ }, async ({ path }) => {
      const text = await readFile(path, 'utf8')
      const ownUrl = `new URL(${JSON.stringify(fromBundle(path))}, import.meta.url).href`
      if (text.includes('import.meta.url')) return { contents: text.replaceAll('import.meta.url', ownUrl) }
    })
  }
  await build({
    entryPoints: [join(dist, 'main.js')],
    outfile: join(dist, 'bundle.js'),
    bundle: true,
    platform: 'node',
    format: 'esm',
    target: 'node20',
    logLevel: 'warning',
    banner: {
      js: "import { createRequire as makeRequire } from 'node:module'; const require = makeRequire(import.meta.url);",
    },
    plugins: [{ name: 'upfront', setup }],
  })
}
