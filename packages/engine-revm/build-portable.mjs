// Builds the engine as WebAssembly: portable.wasm, which is in the repository. `--check` fails if the result is another module. The same
// sources and compiler give the same bytes everywhere. A custom section has the hash of the sources, which a test compares: a module older
// than its sources does not pass.
import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { fileURLToPath } from 'node:url'
import { compiler, SECTION, sourcesHash } from './portable-sources.mjs'

const here = fileURLToPath(new URL('.', import.meta.url))
const file = `${here}portable.wasm`
const target = 'wasm32-wasip1'

const isCheck = process.argv.includes('--check')
const rustc = said('rustc', '--version')
const sysroot = said('rustc', '--print', 'sysroot')
const lacking = whatIsLacking()
if (lacking !== undefined) fail(lacking)
// Keeps the paths of this machine and its user out of the module.
const places = {
  [here.slice(0, -1)]: '/engine',
  [process.env.CARGO_HOME ?? `${homedir()}/.cargo`]: '/cargo',
  [sysroot]: '/rust',
}
const flags = Object.entries(places).map(([from, to]) => `--remap-path-prefix=${from}=${to}`)
const { status } = spawnSync(
  'cargo',
  ['build', '--profile', 'portable', '--locked', '--package', 'upfront-engine-portable', '--target', target],
  { cwd: here, env: { ...process.env, RUSTFLAGS: flags.join(' ') }, stdio: 'inherit' },
)
if (status !== 0) fail('cargo failed')
const module = withSection(readFileSync(`${here}target/${target}/portable/upfront_engine_portable.wasm`), sourcesHash())
if (!isCheck) writeFileSync(file, module)
else if (!module.equals(readFileSync(file)))
  fail('portable.wasm is not what its sources give: `npm run build:portable`')
console.log(`portable.wasm: ${module.length} bytes`)

function whatIsLacking() {
  if (!rustc.startsWith(`rustc ${compiler} `))
    return `it is built by rustc ${compiler}, so that all get the same; here: ${rustc || 'none'}`
  return existsSync(`${sysroot}/lib/rustlib/${target}`) ? undefined : `it takes \`rustup target add ${target}\``
}

function said(command, ...args) {
  return (spawnSync(command, args, { encoding: 'utf8' }).stdout ?? '').trim()
}

/** Appends a custom section: id 0, its length, its name's length, the name, the text. */
function withSection(module, text) {
  const content = Buffer.from(`${String.fromCharCode(SECTION.length)}${SECTION}${text}`, 'latin1')
  if (content.length > 127) fail('the section is too long')
  return Buffer.concat([module, Buffer.from([0, content.length]), content])
}

function fail(why) {
  console.error(`build-portable: ${why}`)
  process.exit(1)
}
