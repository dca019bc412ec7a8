// The crates' own tests, where cargo is. They share the addon's build profile: what it compiled is not compiled again.
import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { cargoEnv } from '../cargo-env.mjs'

const cwd = fileURLToPath(new URL('..', import.meta.url))
if (process.env.EVM_ENGINE === 'ethereumjs' || spawnSync('cargo', ['--version']).status !== 0) {
  console.log('engine-revm: the Rust tests are skipped: cargo is not installed, or EVM_ENGINE=ethereumjs')
  process.exit(0)
}
const { status } = spawnSync('cargo', ['test', '--release', '--locked', '--quiet', '--package', 'upfront-engine'], {
  cwd,
  env: cargoEnv,
  stdio: 'inherit',
})
process.exit(status ?? 1)
