import { FAULTS, type Fault, type FaultyUpstream, startFaultyUpstream } from '@upfront/chain-state/faulty-upstream'
import { type Devnet, startDevnet } from '@upfront/devnet'
import { createTestClient, http } from 'viem'
import { assemble } from './assemble.js'
import { type GatewayProcess, startGatewayProcess } from './gateway-process.js'
import type { BlockResult } from './simulate-params.js'

const CONTRACT = '0x00000000000000000000000000000000000c0de0'
const WORD = `0x${'ab'.repeat(32)}` as const
/** Returns slot 5. */
const READER = assemble('5 SLOAD 0 MSTORE 32 0 RETURN')

let devnet: Devnet
const parts: { gateway: GatewayProcess; upstream: FaultyUpstream }[] = []

beforeAll(async () => {
  devnet = await startDevnet({ payments: false })
  const node = createTestClient({ mode: 'anvil', transport: http(devnet.rpcUrl) })
  await node.setCode({ address: CONTRACT, bytecode: READER })
  await node.setStorageAt({ address: CONTRACT, index: `0x${'0'.repeat(63)}5`, value: WORD })
  await node.mine({ blocks: 5 })
})
afterAll(async () => {
  await Promise.all(parts.map(({ gateway }) => gateway.stop()))
  await Promise.all(parts.map(({ upstream }) => upstream.close()))
  await devnet?.stop()
})

async function start() {
  const upstream = await startFaultyUpstream(devnet.rpcUrl)
  const gateway = await startGatewayProcess({ UPSTREAM_RPC_URL: upstream.url })
  parts.push({ gateway, upstream })
  return { gateway, upstream }
}

/** What one simulation came to: the right value, or an error that names the upstream. Anything else throws. */
async function outcome(gateway: GatewayProcess, upstream: FaultyUpstream, sender: number): Promise<'right' | 'named'> {
  const from = `0x${(0x7777_0000 + sender).toString(16).padStart(40, '0')}`
  const body = { blockStateCalls: [{ calls: [{ from, to: CONTRACT }] }] }
  const response = await gateway.post(
    JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'eth_simulateV1', params: [body, 'latest'] }),
  )
  const { result, error } = (await response.json()) as {
    result?: BlockResult[]
    error?: { code: number; message: string }
  }
  if (error === undefined) {
    expect(response.status).toBe(200)
    expect(result?.[0]?.calls[0]).toMatchObject({ status: '0x1', returnData: WORD })
    return 'right'
  }
  expect(error).toMatchObject({ code: -32603, message: expect.stringContaining(`upstream ${upstream.host}`) })
  expect([502, 504]).toContain(response.status)
  return 'named'
}

describe('a faulty upstream', () => {
  it.each(FAULTS)(
    '%s: right or an error that names it, in time, and right again',
    async (fault: Fault) => {
      const { gateway, upstream } = await start()
      expect(await outcome(gateway, upstream, 0)).toBe('right')
      upstream.fault = fault
      const started = performance.now()
      await Promise.all([1, 2, 3].map((sender) => outcome(gateway, upstream, sender)))
      expect(performance.now() - started).toBeLessThan(20_000)
      upstream.fault = undefined
      const healed = performance.now()
      expect(await outcome(gateway, upstream, 4)).toBe('right')
      expect(performance.now() - healed).toBeLessThan(5_000)
      await gateway.stop()
    },
    60_000,
  )

  it.each(['http-500', 'reset', 'truncated', 'null-blocks'] as const)(
    'one request in five fails with %s: at least 95%% are right',
    async (fault) => {
      const { gateway, upstream } = await start()
      upstream.fault = fault
      upstream.oneIn = 5
      const outcomes = await Promise.all(Array.from({ length: 40 }, (_, sender) => outcome(gateway, upstream, sender)))
      expect(outcomes.filter((each) => each === 'right').length).toBeGreaterThanOrEqual(38)
    },
    60_000,
  )
})
