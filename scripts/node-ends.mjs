// The lowest and highest supported versions of Node (`engines`), from npm's packages of its binary. `npm run test:node` runs everything
// that depends on Node itself with both: our HTTP front, sockets, the addon, WebAssembly and worker threads.
import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { root } from './install.mjs'

/** The lowest supported version, and the newest tested. */
export const NODE_ENDS = ['20.19.0', '26.10.0']

const SUITES = [
  ['packages/fast-http', []],
  ['packages/node', []],
  ['packages/engine-revm', ['test/contract', 'test/portable', 'test/engine']],
  [
    'apps/simulator-gateway',
    [
      'test/plain-front',
      'test/latest',
      'test/web-socket',
      'test/connections',
      'test/workers',
      'test/shutdown',
      'test/paid.test',
    ],
  ],
  ['apps/billing', ['test/verification', 'test/settle-payment']],
]

/** @returns the program of this version, or why there is none */
export function nodeAt(version) {
  if (process.versions.node === version) return { program: process.execPath }
  const name = `node-${process.platform}-${process.arch}`
  const folder = join(process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache'), 'upfront-node', version)
  const program = join(folder, 'node_modules', name, 'bin', 'node')
  if (!existsSync(program)) {
    mkdirSync(folder, { recursive: true })
    writeFileSync(join(folder, 'package.json'), '{"private":true}')
    const install = ['install', `${name}@${version}`, '--ignore-scripts', '--no-audit', '--no-fund']
    const { status, stderr } = spawnSync('npm', install, { cwd: folder, encoding: 'utf8', timeout: 120_000 })
    if (status !== 0)
      return { missing: `${name}@${version} can't be installed: ${String(stderr).trim().split('\n')[0]}` }
  }
  return { program }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  for (const version of NODE_ENDS) {
    const { program, missing } = nodeAt(version)
    if (missing !== undefined) throw new Error(missing)
    for (const [folder, tests] of SUITES) {
      console.log(`Node ${version}: ${folder} ${tests.join(' ')}`)
      const jest = ['--experimental-vm-modules', '--no-warnings', join(root, 'node_modules/jest/bin/jest.js'), ...tests]
      execFileSync(program, jest, { cwd: join(root, folder), stdio: 'inherit' })
    }
  }
}
