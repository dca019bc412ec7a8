// npm run fuzz -- --seeds 5000 [--seed 1234]
import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'

const HELP = `npm run fuzz compares the engines with each other, and with geth if it is installed, on random requests.
  --seeds 5000  number of requests
  --seed N      the first seed; by default from the clock`

const { values } = parseArgs({
  options: {
    seeds: { type: 'string', default: '5000' },
    seed: { type: 'string' },
    help: { type: 'boolean', default: false },
  },
})
if (values.help) {
  console.log(HELP)
  process.exit(0)
}
const seeds = Number(values.seeds)
const seed = Number(values.seed ?? Date.now() % 2 ** 31)
if (!Number.isInteger(seeds) || seeds < 1 || !Number.isInteger(seed)) {
  console.error('usage: npm run fuzz -- --seeds N [--seed N]')
  process.exit(2)
}
console.log(
  `${seeds} random requests from seed ${seed} on; differences are kept in packages/engine-revm/test/regressions`,
)
const jest = fileURLToPath(new URL('../../../node_modules/jest/bin/jest.js', import.meta.url))
const flags = ['--experimental-vm-modules', '--no-warnings=ExperimentalWarning']
const { status } = spawnSync(
  process.execPath,
  [...flags, jest, 'test/differential.test.ts', 'test/op-differential.test.ts'],
  {
    cwd: fileURLToPath(new URL('..', import.meta.url)),
    env: { ...process.env, FUZZ_SEEDS: String(seeds), FUZZ_SEED: String(seed) },
    stdio: 'inherit',
  },
)
process.exit(status ?? 1)
