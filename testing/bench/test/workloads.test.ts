import { DEVNET_ROLES, type Devnet, startDevnet } from '@upfront/devnet'
import { Pool } from 'undici'
import { simulate } from '../src/measure/load.js'
import { WARM_WORKLOADS } from '../src/workloads/warm.js'
import type { Stage } from '../src/workloads/workload.js'

let devnet: Devnet
let pool: Pool
let stage: Stage

beforeAll(async () => {
  devnet = await startDevnet({ payments: false, uniswap: true, anvilArgs: ['--no-request-size-limit'] })
  if (devnet.uniswap === undefined) throw new Error('no swap contracts')
  stage = { uniswap: devnet.uniswap, trader: DEVNET_ROLES.deployer.address }
  pool = new Pool(devnet.rpcUrl)
})
afterAll(async () => {
  await pool?.close()
  await devnet?.stop()
})

test.each(WARM_WORKLOADS.map((workload) => [workload.name, workload] as const))(
  'every call of %s succeeds, for the first and the second request',
  async (_, workload) => {
    for (const index of [0, 1]) {
      const payload = workload.payload(stage, index)
      const { result } = JSON.parse(await simulate(pool, payload))
      expect(result).toHaveLength(payload.blockStateCalls.length)
    }
  },
  30_000,
)

test('every loop workload uses over 44.9 million gas', async () => {
  for (const workload of WARM_WORKLOADS.filter(({ name }) => name.startsWith('loop-'))) {
    const { result } = JSON.parse(await simulate(pool, workload.payload(stage, 0)))
    expect(Number(result[0].calls[0].gasUsed)).toBeGreaterThan(44_900_000)
  }
})
