// Builds the addon where cargo is, as index.node beside this file. Where it is not, one line says so and all is well:
// the portable engine serves. With EVM_ENGINE=revm a build that fails is an error.
import { spawnSync } from 'node:child_process'
import { copyFileSync, existsSync, renameSync, rmSync, statSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const here = fileURLToPath(new URL('.', import.meta.url))
const addon = `${here}index.node`
const wanted = process.env.EVM_ENGINE ?? 'auto'
const library = {
  win32: 'upfront_engine_bindings.dll',
  darwin: 'libupfront_engine_bindings.dylib',
}
const built = `${here}target/release/${library[process.platform] ?? 'libupfront_engine_bindings.so'}`

function giveUp(reason) {
  console.log(`engine-revm: ${reason}; the portable engine serves instead`)
  process.exit(wanted === 'revm' || process.env.CI ? 1 : 0)
}

if (wanted === 'ethereumjs') giveUp('not built (EVM_ENGINE=ethereumjs)')
if (spawnSync('cargo', ['--version']).status !== 0) {
  if (existsSync(addon)) process.exit(0)
  giveUp('not built (cargo is not installed)')
}
if (!existsSync(built)) console.log('engine-revm: building the native engine, about a minute and a half, once')
const cargo = spawnSync('cargo', ['build', '--release', '--locked', '--package', 'upfront-engine-bindings'], {
  cwd: here,
  stdio: 'inherit',
})
if (cargo.status !== 0) {
  rmSync(addon, { force: true })
  giveUp('cargo could not build the native engine (see above)')
}
if (!existsSync(addon) || statSync(addon).mtimeMs < statSync(built).mtimeMs) {
  // A running process has the old file mapped: it is replaced, never overwritten.
  copyFileSync(built, `${addon}.new`)
  renameSync(`${addon}.new`, addon)
}
