import {
  type Devnet,
  type FaultProxy,
  NODE_FAULTS,
  type NodeFault,
  startDevnet,
  startFaultProxy,
} from '@upfront/devnet'
import { createTestClient, http } from 'viem'
import { assemble } from './assemble.js'
import { type GatewayProcess, startGateway } from './gateway-process.js'
import type { BlockResult } from './simulate-params.js'

const CONTRACT = '0x00000000000000000000000000000000000c0de0'
const WORD = `0x${'ab'.repeat(32)}` as const
/** Returns slot 5. */
const READER = assemble('5 SLOAD 0 MSTORE 32 0 RETURN')

/** Returns slot 5. If it is zero, as in a run that has not read it yet, it reads another slot. */
const GUESSED = '0x00000000000000000000000000000000000c0de1'
const UNNEEDED = `0x${'0'.repeat(63)}9`
const GUESSER = assemble('5 SLOAD >set JUMPI 9 SLOAD 0 MSTORE STOP @set 5 SLOAD 0 MSTORE 32 0 RETURN')

/** Gateways with a proxy each; a scenario mostly waits. */
const LANES = 6

interface Lane {
  gateway: GatewayProcess
  upstream: FaultProxy
}

let devnet: Devnet
let lanes: Lane[] = []
const scenarios = new Map<NodeFault, Promise<'right' | 'named'>>()

beforeAll(async () => {
  devnet = await startDevnet({ payments: false })
  const node = createTestClient({ mode: 'anvil', transport: http(devnet.rpcUrl) })
  for (const [address, bytecode] of [
    [CONTRACT, READER],
    [GUESSED, GUESSER],
  ] as const) {
    await node.setCode({ address, bytecode })
    await node.setStorageAt({ address, index: `0x${'0'.repeat(63)}5`, value: WORD })
  }
  await node.mine({ blocks: 5 })
  lanes = await Promise.all(Array.from({ length: LANES }, start))
  for (const [index, lane] of lanes.entries()) {
    let before: Promise<unknown> = Promise.resolve()
    for (const fault of NODE_FAULTS.filter((_, position) => position % LANES === index)) {
      const running = before.then(() => scenario(fault, lane))
      scenarios.set(fault, running)
      before = running.catch(() => undefined)
    }
  }
})
afterAll(async () => {
  await Promise.allSettled(scenarios.values())
  await Promise.all(lanes.map(({ gateway }) => gateway.stop()))
  await Promise.all(lanes.map(({ upstream }) => upstream.stop()))
  await devnet?.stop()
})

async function start(): Promise<Lane> {
  const upstream = await startFaultProxy(devnet.rpcUrl)
  return { upstream, gateway: await startGateway({ UPSTREAM_RPC_URL: upstream.url }) }
}

/** Simulates while the node has a fault, and after that. */
async function scenario(fault: NodeFault, { gateway, upstream }: Lane): Promise<'right' | 'named'> {
  expect(await outcome(gateway, upstream)).toBe('right')
  upstream.fault = fault
  await Promise.all([1, 2, 3].map(() => outcome(gateway, upstream)))
  upstream.fault = undefined
  return outcome(gateway, upstream)
}

let senders = 0

/** Result of one simulation: the right value, or an error that names the upstream. Throws on anything else. */
async function outcome(gateway: GatewayProcess, upstream: FaultProxy, to = CONTRACT): Promise<'right' | 'named'> {
  const from = `0x${(0x7777_0000 + ++senders).toString(16).padStart(40, '0')}`
  const body = { blockStateCalls: [{ calls: [{ from, to }] }] }
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
  it.each(NODE_FAULTS)(
    '%s: answers are right or name the upstream, and are right afterwards',
    async (fault) => {
      expect(await scenarios.get(fault)).toBe('right')
    },
    90_000,
  )

  it.each(['http-500', 'reset', 'truncated', 'null-blocks', 'missing-state'] as const)(
    'one request in five fails with %s: at least 95%% of the answers are right',
    async (fault) => {
      await Promise.allSettled(scenarios.values())
      const { gateway, upstream } = lanes[0]!
      upstream.fault = fault
      upstream.oneIn = 5
      const outcomes = await Promise.all(Array.from({ length: 40 }, () => outcome(gateway, upstream)))
      upstream.fault = undefined
      expect(outcomes.filter((each) => each === 'right').length).toBeGreaterThanOrEqual(38)
    },
  )
})

describe('a provider with nodes that lack state', () => {
  let lane: Lane

  beforeAll(async () => {
    const upstream = await startFaultProxy(devnet.rpcUrl)
    lane = { upstream, gateway: await startGateway({ UPSTREAM_RPC_URL: upstream.url, HINTS: 'off' }) }
  })
  afterAll(async () => {
    await lane?.gateway.stop()
    await lane?.upstream.stop()
  })

  it('42 of 42 answers are right if one read of state in five fails', async () => {
    const { gateway, upstream } = lane
    let reads = 0
    upstream.lacksState = ({ params }) => typeof params?.at(-1) === 'object' && ++reads % 5 === 0
    const outcomes = await Promise.all(Array.from({ length: 42 }, () => outcome(gateway, upstream)))
    expect(outcomes).toEqual(Array(42).fill('right'))
    expect(reads).toBeGreaterThan(42)
  })

  it('answers are right if the node lacks a value that only a wrong guess reads', async () => {
    const { gateway, upstream } = lane
    let failed = 0
    upstream.lacksState = ({ method, params }) => {
      const isUnneeded = method === 'eth_getStorageAt' && params?.[1] === UNNEEDED
      if (isUnneeded) failed += 1
      return isUnneeded
    }
    expect(await outcome(gateway, upstream, GUESSED)).toBe('right')
    expect(failed).toBeGreaterThan(0)
    upstream.lacksState = ({ method }) => method === 'eth_getStorageAt'
    const other = createTestClient({ mode: 'anvil', transport: http(devnet.rpcUrl) })
    await other.mine({ blocks: 1 })
    expect(await outcome(gateway, upstream, GUESSED)).toBe('named')
  })
})

it('if one of two URLs fails, answers are right, and health and metrics show it without its key', async () => {
  const broken = await startFaultProxy(devnet.rpcUrl)
  broken.fault = 'reset'
  const urls = `http://user:secret-key@${broken.host}/v1/secret-key,${devnet.rpcUrl}`
  const gateway = await startGateway({ UPSTREAM_RPC_URL: urls })
  try {
    for (let count = 0; count < 3; count += 1) expect(await outcome(gateway, broken)).toBe('right')
    const { upstreams } = (await (await fetch(`${gateway.url}/health/ready`)).json()) as { upstreams: object[] }
    expect(upstreams).toEqual([
      { upstream: broken.host, circuit: expect.stringMatching('open') },
      expect.objectContaining({ circuit: 'closed' }),
    ])
    const sample = `upfront_upstream_left_out{upstream="${broken.host}",reason="failed"}`
    expect(await gateway.metric(sample)).toBe(1)
    expect(gateway.output() + JSON.stringify(upstreams)).not.toContain('secret-key')
  } finally {
    await gateway.stop()
    await broken.stop()
  }
})
