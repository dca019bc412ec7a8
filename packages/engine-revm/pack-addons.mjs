// Packs what `napi build --platform` left in artifacts/ (see .github/workflows/engine-revm-addon.yml) into packed/: one package per
// platform, and the package itself with those as optional dependencies. Then loads this platform's from where npm would put it.
import { execFileSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'

const here = fileURLToPath(new URL('.', import.meta.url))
const packed = join(here, 'packed')
const manifest = join(here, 'package.json')
const committed = readFileSync(manifest, 'utf8')
const run = (program, ...args) => execFileSync(program, args, { cwd: here, stdio: ['ignore', 'inherit', 'inherit'] })

for (const made of ['npm', 'packed']) rmSync(join(here, made), { recursive: true, force: true })
mkdirSync(packed)
try {
  run('pnpm', 'exec', 'napi', 'create-npm-dirs')
  const addons = readdirSync(join(here, 'artifacts')).filter((name) => name.endsWith('.node'))
  const platforms = readdirSync(join(here, 'npm'))
  const missing = platforms.filter((platform) => !addons.includes(`engine-revm.${platform}.node`))
  if (missing.length > 0) console.warn(`pack-addons: no addon was built for ${missing.join(', ')}: not packed`)
  if (process.env.CI && missing.length > 0) process.exit(1)
  const { name, version } = JSON.parse(committed)
  const optionalDependencies = {}
  for (const platform of platforms.filter((candidate) => !missing.includes(candidate))) {
    const folder = join(here, 'npm', platform)
    cpSync(join(here, 'artifacts', `engine-revm.${platform}.node`), join(folder, `engine-revm.${platform}.node`))
    run('npm', 'pack', '--silent', '--pack-destination', packed, folder)
    optionalDependencies[`${name}-${platform}`] = version
  }
  // Added only here: otherwise each installation of the workspace would ask the registry for them.
  const files = ['dist', 'index.d.cts']
  writeFileSync(manifest, JSON.stringify({ ...JSON.parse(committed), files, optionalDependencies }, null, 2))
  run('pnpm', 'pack', '--pack-destination', packed)
} finally {
  writeFileSync(manifest, committed)
}
await loadPacked()

async function loadPacked() {
  const { loadAddon } = await import('./dist/addon.js')
  const { platformPackage } = await import('./dist/platform-package.js')
  const wanted = platformPackage()
  const tarball = readdirSync(packed).find((name) => name.startsWith(`${wanted?.replace('@', '').replace('/', '-')}-`))
  if (wanted === undefined || tarball === undefined) throw new Error(`nothing was packed for this platform (${wanted})`)
  const home = mkdtempSync(join(tmpdir(), 'packed-'))
  const target = join(home, 'node_modules', wanted)
  mkdirSync(target, { recursive: true })
  execFileSync('tar', ['xzf', join(packed, tarball), '--strip-components=1', '-C', target])
  const { addon, reason } = loadAddon(pathToFileURL(`${home}/`), wanted)
  if (addon === undefined) throw new Error(reason)
  new addon.NativeEngine({ cacheBytes: 1, threads: 1, queue: 1 }, () => {}).close()
  rmSync(home, { recursive: true })
  console.log(`pack-addons: ${wanted} loads from ${tarball}`)
}
