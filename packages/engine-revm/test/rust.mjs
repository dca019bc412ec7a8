// The crates' format, lints and tests, where cargo is: `node test/rust.mjs`. The tests share the addon's build profile and flags, so
// that no dependency is compiled twice. The engine itself is, and is not optimised for it: that takes a third of the time.
import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { cargoEnv } from '../cargo-env.mjs'

const cwd = fileURLToPath(new URL('..', import.meta.url))
if (process.env.EVM_ENGINE === 'portable') skip('the Rust checks', 'EVM_ENGINE=portable')
else if (!has('--version')) skip('the Rust checks', 'cargo is not installed')
else {
  if (has('fmt', '--version')) run('fmt', '--all', '--check')
  else skip('the format of the crates', 'rustfmt is not installed (rustup component add rustfmt)')
  if (has('clippy', '--version'))
    run('clippy', '--release', '--locked', '--workspace', '--all-targets', '--', '-D', 'warnings')
  else skip("clippy's lints", 'clippy is not installed (rustup component add clippy)')
  run('test', '--release', '--locked', '--workspace', '--config', 'profile.release.package.upfront-engine.opt-level=0')
  // The module that is in the repository is what its sources give.
  if (
    process.env.CI &&
    spawnSync(process.execPath, ['build-portable.mjs', '--check'], { cwd, stdio: 'inherit' }).status
  )
    process.exitCode = 1
}

function has(...args) {
  return spawnSync('cargo', args, { cwd }).status === 0
}

function run(...args) {
  const { status, error } = spawnSync('cargo', args, { cwd, env: cargoEnv, stdio: 'inherit' })
  if (status === 0) return
  console.error(`engine-revm: cargo ${args.join(' ')} failed${error ? `: ${error.message}` : ''}`)
  process.exitCode = 1
}

function skip(what, why) {
  console.log(`engine-revm: ${what}: skipped: ${why}`)
}
