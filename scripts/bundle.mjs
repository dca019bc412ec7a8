import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { mkdir, readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, join, relative } from 'node:path'
import { build } from 'esbuild'
import { packageFolders, root } from './install.mjs'

/** Modules kept as separate files: one that tests change before the program starts, and one that loads OpenTelemetry if spans are sent. */
const APART = /\/(environment\/fixed|export-spans)\.js$/
/** Packages that are not bundled, because they look for files next to their own. */
const WHOLE = /^(playwright-core|typescript)(\/|$)/

/**
 * Bundles an app's dist/main.js with all its imports into dist/bundle.js, which starts with a third of the CPU time, and the module that
 * starts gateways for tests into dist/gateway-host.js. Bundles only work in this repository, because they contain paths of packages' files.
 */
export function bundle(folder) {
  const dist = join(root, folder, 'dist')
  const host = join(root, folder, 'test', 'gateway-host.mjs')
  const hosts = existsSync(host) ? [{ in: host, out: 'gateway-host' }] : []
  return build({ ...settings(dist), entryPoints: [{ in: join(dist, 'main.js'), out: 'bundle' }, ...hosts] })
}

/**
 * Bundles the packages, our own and others', that our packages and their tests import: jest links every file again for each test file, and
 * viem alone has 800. Shared modules are bundled once. `jest-resolver.cjs` redirects jest to the bundles.
 * @param out folder to create, named `node_modules`, so that jest does not transform its content.
 * Its `places.json` maps a package's file to the file that replaces it
 */
export async function bundlePackages(out) {
  await mkdir(out)
  const imported = await findImported()
  const entryPoints = imported.map((path, index) => ({
    in: namedExports(path, join(out, `${index}.in.mjs`)),
    out: `${index}`,
  }))
  await build({ ...settings(out), entryPoints, splitting: true, outExtension: { '.js': '.mjs' } })
  const places = imported.map((path, index) => [path, join(out, `${index}.mjs`)])
  writeFileSync(join(out, 'places.json'), JSON.stringify(Object.fromEntries(places)))
}

/** esbuild's settings for files in the folder `out`. */
function settings(out) {
  const fromBundle = (path) => relative(out, path).replace(/^(?!\.)/, './')
  const setup = ({ initialOptions, onLoad, onResolve, resolve }) => {
    onResolve({ filter: APART }, ({ path, resolveDir }) => ({
      path: fromBundle(join(resolveDir, path)),
      external: true,
    }))
    onResolve({ filter: /^[^./]/ }, async ({ path, pluginData, ...from }) => {
      // With splitting, a CommonJS module that is imported dynamically has only its default export.
      const isApart = WHOLE.test(path) || (initialOptions.splitting && from.kind === 'dynamic-import')
      if (pluginData === resolve || (from.kind === 'import-statement' && !isApart)) return
      const found = await resolve(path, { ...from, pluginData: resolve })
      // A package that is not installed is optional: its importer catches the error.
      if (found.errors.length > 0) return { path, external: true }
      if (isApart) return { path: found.path, external: true }
    })
    // Modules locate files next to them by `import.meta.url`.
    onLoad({ filter: /\.m?js$/ }, async ({ path }) => {
      const text = await readFile(path, 'utf8')
      const ownUrl = `new URL(${JSON.stringify(fromBundle(path))}, import.meta.url).href`
      if (text.includes('import.meta.url')) return { contents: text.replaceAll('import.meta.url', ownUrl) }
    })
  }
  return {
    outdir: out,
    bundle: true,
    platform: 'node',
    format: 'esm',
    target: 'node20',
    logLevel: 'warning',
    banner: {
      js: "import { createRequire as makeRequire } from 'node:module'; const require = makeRequire(import.meta.url);",
    },
    plugins: [{ name: 'upfront', setup }],
  }
}

/** Paths of the files that packages' sources and tests get when they import packages, as jest resolves them. */
async function findImported() {
  const imports = new Map()
  for (const folder of packageFolders())
    for (const file of ['src', 'test'].flatMap((part) => filesIn(join(root, folder, part))))
      for (const [, name] of readFileSync(file, 'utf8').matchAll(/\b(?:from|import\(?)\s*'((?!node:)[@\w][-\w./@]*)'/g))
        if (!WHOLE.test(name)) imports.set(`${folder}:${name}`, [name, join(root, folder, 'src')])
  const paths = new Set()
  const setup = ({ onResolve, resolve }) =>
    onResolve({ filter: /:/ }, async ({ path: key, kind }) => {
      const [name, resolveDir] = imports.get(key) ?? []
      const { path, external } = await resolve(name, { kind, resolveDir })
      if (!external && /\.[cm]?js$/.test(path)) paths.add(path)
      return { path: key, external: true }
    })
  await build({
    stdin: { contents: [...imports.keys()].map((key) => `import '${key}'`).join('\n'), resolveDir: root },
    write: false,
    bundle: true,
    platform: 'node',
    conditions: ['node-addons'],
    mainFields: ['main'],
    plugins: [{ name: 'imported', setup }],
  })
  return [...paths]
}

/** A file that re-exports this one's exports by name. esbuild knows no names for CommonJS modules, so for these it writes `stub`. */
function namedExports(path, stub) {
  if (!isCommonJs(path)) return path
  const names = Object.keys(createRequire(path)(path)).filter((name) => /^[\w$]+$/.test(name) && name !== 'default')
  writeFileSync(stub, `export { ${['default', ...names].join(', ')} } from ${JSON.stringify(path)}\n`)
  return stub
}

/** Like Node: by file extension, otherwise by the nearest package.json. */
function isCommonJs(path) {
  if (/\.[cm]js$/.test(path)) return path.endsWith('.cjs')
  let folder = dirname(path)
  while (!existsSync(join(folder, 'package.json'))) folder = dirname(folder)
  return JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')).type !== 'module'
}

function filesIn(folder) {
  if (!existsSync(folder)) return []
  return readdirSync(folder, { recursive: true })
    .filter((name) => /\.ts$/.test(name) && !name.includes('node_modules'))
    .map((name) => join(folder, name))
}
