// Installs the dependencies of the lockfile with the pinned pnpm, only if something changed.
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { delimiter, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { run } from './processes.mjs'

export const root = fileURLToPath(new URL('..', import.meta.url))
const stamp = join(root, 'node_modules', '.upfront-installed')
/** Caches the folder where npx keeps the fetched pnpm, because running npx again takes two CPU-seconds. */
const fetched = join(root, '.data', 'pnpm-folder')
const [, pnpmVersion] = /^pnpm@([\d.]+)/.exec(
  JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')).packageManager,
)

/** Folders of the workspace's packages, relative to the root. */
export function packageFolders() {
  return ['apps', 'packages', 'examples', 'testing']
    .flatMap((group) =>
      existsSync(join(root, group)) ? readdirSync(join(root, group)).map((name) => `${group}/${name}`) : [],
    )
    .filter((folder) => existsSync(join(root, folder, 'package.json')))
}

/** Runs a shell command with the pinned pnpm on the PATH: the installed one if its version matches, otherwise fetched by npx. */
export async function withPnpm(line) {
  const { PATH } = process.env
  const use = () => {
    process.env.PATH = `${readFileSync(fetched, 'utf8').trim()}${delimiter}${PATH}`
  }
  if (existsSync(fetched)) use()
  const { stdout } = spawnSync('pnpm', ['--version'], { cwd: root, encoding: 'utf8' })
  if (stdout?.trim() !== pnpmVersion) {
    mkdirSync(dirname(fetched), { recursive: true })
    const note = `dirname "$(command -v pnpm)" > '${fetched}'`
    await run('npx', ['--yes', `--package=pnpm@${pnpmVersion}`, '-c', note], {
      cwd: root,
      env: { ...process.env, PATH },
    })
    use()
  }
  const env = { ...process.env, TURBO_TELEMETRY_DISABLED: '1', DO_NOT_TRACK: '1' }
  return run('sh', ['-c', line], { cwd: root, env })
}

/** Installs unless node_modules already matches the lockfile and this version of Node. */
export async function install() {
  const [major, minor] = process.versions.node.split('.').map(Number)
  if (major < 20 || (major === 20 && minor < 19))
    throw new Error(`Node 20.19 or newer is needed, this is ${process.versions.node}`)
  const wanted = fingerprint()
  if (existsSync(stamp) && readFileSync(stamp, 'utf8') === wanted) return
  console.log('Installing dependencies …')
  await withPnpm('pnpm install --frozen-lockfile --prod=false --config.confirmModulesPurge=false')
  writeFileSync(stamp, wanted)
}

function fingerprint() {
  const hash = createHash('sha256').update(`${process.platform} ${process.arch} ${process.versions.modules}`)
  const manifests = ['.', ...packageFolders()].map((folder) => join(folder, 'package.json'))
  for (const file of ['pnpm-lock.yaml', 'pnpm-workspace.yaml', ...manifests])
    hash.update(file).update(readFileSync(join(root, file)))
  return hash.digest('hex')
}
