// Builds the addon, if cargo is available, as index.node next to this file, for this machine's processor: `addon-needs.txt` lists the
// processor features it needs. If it can't be built, prints why, stores the cause in `addon-cause.txt` and succeeds, because the portable
// build replaces it. With EVM_ENGINE=native, or auto in CI, that is an error.
import { spawn, spawnSync } from 'node:child_process'
import { copyFileSync, existsSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { cargoEnv, extraFeatures } from './cargo-env.mjs'

const here = fileURLToPath(new URL('.', import.meta.url))
const addon = `${here}index.node`
const cause = `${here}addon-cause.txt`
const needs = `${here}addon-needs.txt`
const wanted = process.env.EVM_ENGINE ?? 'auto'
const library = {
  win32: 'upfront_engine_bindings.dll',
  darwin: 'libupfront_engine_bindings.dylib',
}
const built = `${here}target/release/${library[process.platform] ?? 'libupfront_engine_bindings.so'}`

if (wanted === 'portable') doWithout('not built: EVM_ENGINE=portable')
if (spawnSync('cargo', ['--version']).status !== 0) {
  if (existsSync(addon)) process.exit(0)
  doWithout('not built: cargo is not installed')
}
if (!existsSync(built)) console.log('engine-revm: building the native engine, about a minute and a half, once')
const problem = await runCargo('build', '--release', '--locked', '--package', 'upfront-engine-bindings')
if (problem !== undefined) {
  rmSync(addon, { force: true })
  warn(`cargo could not build the native engine: ${problem}`)
  doWithout(`not built: cargo failed: ${problem}`)
}
if (!existsSync(addon) || statSync(addon).mtimeMs < statSync(built).mtimeMs) {
  // Running processes have the old file mapped, so it is replaced, never overwritten.
  copyFileSync(built, `${addon}.new`)
  renameSync(`${addon}.new`, addon)
}
writeFileSync(needs, extraFeatures.join('\n'))
rmSync(cause, { force: true })

/** Shows cargo's output while it runs. Resolves to its first error; undefined if it succeeded. */
async function runCargo(...args) {
  const cargo = spawn('cargo', args, { cwd: here, env: cargoEnv, stdio: ['ignore', 'inherit', 'pipe'] })
  let said = ''
  cargo.stderr.setEncoding('utf8').on('data', (text) => {
    process.stderr.write(text)
    said += text
  })
  const status = await new Promise((resolve) => {
    cargo.once('error', ({ message }) => resolve(message))
    cargo.once('close', (code, signal) => resolve(code ?? signal))
  })
  if (status === 0) return undefined
  const [error] = said.match(/^error.*$/m) ?? [`it ended with ${status}`]
  return error.replace(/^error(\[\w+\])?: /, '')
}

function warn(text) {
  const line = '!'.repeat(100)
  console.error(`\n${line}\nWARNING: engine-revm: ${text}\n${line}\n`)
}

function doWithout(reason) {
  writeFileSync(cause, `${reason}\n`)
  console.log(`engine-revm: ${reason}; a prebuilt addon or the portable build is used instead`)
  process.exit(wanted !== 'portable' && (wanted === 'native' || process.env.CI) ? 1 : 0)
}
