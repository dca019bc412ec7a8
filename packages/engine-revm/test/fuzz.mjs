// npm run fuzz -- --minutes 10 [--seed 1234]
import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'

const { values } = parseArgs({ options: { minutes: { type: 'string', default: '5' }, seed: { type: 'string' } } })
const minutes = Number(values.minutes)
const seed = Number(values.seed ?? Date.now() % 2 ** 31)
if (!(minutes > 0) || !Number.isInteger(seed)) {
  console.error('usage: npm run fuzz -- --minutes N [--seed N]')
  process.exit(2)
}
console.log(
  `fuzzing for ${minutes} minutes from seed ${seed}; differences are kept in packages/engine-revm/test/regressions`,
)
const jest = fileURLToPath(new URL('../../../node_modules/jest/bin/jest.js', import.meta.url))
const flags = ['--experimental-vm-modules', '--no-warnings=ExperimentalWarning']
const { status } = spawnSync(process.execPath, [...flags, jest, 'test/differential.test.ts'], {
  cwd: fileURLToPath(new URL('..', import.meta.url)),
  env: { ...process.env, FUZZ_MINUTES: String(minutes), FUZZ_SEED: String(seed) },
  stdio: 'inherit',
})
process.exit(status ?? 1)
