// Checks the crates' format and lints and runs their tests, if cargo is available: `node test/rust.mjs`. Clippy's driver compiles the
// tests, so one pass lints and tests; `cargo clippy` would check all dependencies again. These are the addon's, with the same profile and
// flags. The crates themselves are not optimised, which takes a third of the time.
import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { cargoEnv } from '../cargo-env.mjs'

const cwd = fileURLToPath(new URL('..', import.meta.url))
const CRATES = ['upfront-engine', 'upfront-engine-border', 'upfront-engine-bindings', 'upfront-engine-portable']
const unoptimised = CRATES.flatMap((crate) => ['--config', `profile.release.package.${crate}.opt-level=0`])
/** What `cargo clippy -- -D warnings` sets. */
const asClippy = {
  RUSTC_WORKSPACE_WRAPPER: 'clippy-driver',
  CLIPPY_ARGS: ['-D', 'warnings', ''].join('__CLIPPY_HACKERY__'),
}
if (process.env.EVM_ENGINE === 'portable') skip('the Rust checks', 'EVM_ENGINE=portable')
else if (!has('--version')) skip('the Rust checks', 'cargo is not installed')
else {
  if (has('fmt', '--version')) run(['fmt', '--all', '--check'])
  else skip('the format of the crates', 'rustfmt is not installed (rustup component add rustfmt)')
  const lints = has('clippy', '--version')
  if (!lints) skip("clippy's lints", 'clippy is not installed (rustup component add clippy)')
  const env = lints ? { ...cargoEnv, ...asClippy } : cargoEnv
  // All targets, also those without tests, to lint them. The border is compiled for those that depend on it.
  const targets = ['--workspace', '--exclude', 'upfront-engine-border', '--all-targets']
  run(['test', '--release', '--locked', ...targets, ...unoptimised], env)
}

function has(...args) {
  return spawnSync('cargo', args, { cwd }).status === 0
}

function run(args, env = cargoEnv) {
  const { status, error } = spawnSync('cargo', args, { cwd, env, stdio: 'inherit' })
  if (status === 0) return
  console.error(`engine-revm: cargo ${args.join(' ')} failed${error ? `: ${error.message}` : ''}`)
  process.exitCode = 1
}

function skip(what, why) {
  console.log(`engine-revm: ${what}: skipped: ${why}`)
}
