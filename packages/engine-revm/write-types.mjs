// Writes index.d.cts, the addon's types, from its crate: `npm run types`. A test fails if that was forgotten.
import { spawnSync } from 'node:child_process'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { generateTypeDef } from '@napi-rs/cli'

const cwd = fileURLToPath(new URL('.', import.meta.url))
// A target folder of its own: writing types would otherwise make cargo rebuild the addon.
const target = `${cwd}target/types`
const definitions = `${target}/definitions`

rmSync(definitions, { recursive: true, force: true })
mkdirSync(definitions, { recursive: true })
const force = { NAPI_TYPE_DEF_TMP_FOLDER: definitions, NAPI_FORCE_BUILD_UPFRONT_ENGINE_BINDINGS: `${Date.now()}` }
const { status } = spawnSync(
  'cargo',
  ['check', '--locked', '--package', 'upfront-engine-bindings', '--target-dir', target],
  { cwd, env: { ...process.env, ...force }, stdio: 'inherit' },
)
if (status !== 0) process.exit(status ?? 1)
const { dts } = await generateTypeDef({ typeDefDir: definitions, constEnum: true, cwd })
writeFileSync(`${cwd}index.d.cts`, dts)
