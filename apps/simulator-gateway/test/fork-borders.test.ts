import { numberToHex } from 'viem'
import { type GatewayProcess, startGateway } from './gateway-process.js'
import { startGenesisUpstream } from './genesis-upstream.js'

const CODE = '0x00000000000000000000000000000000000c0de5'
const SENDER = '0x00000000000000000000000000000000000d0b0d'
const PAIRING = '0x0000000000000000000000000000000000000008'
const VAULT = '0x4200000000000000000000000000000000000011'
const JOVIAN_EXTRA_DATA = '0x01000000fa0000000600000000000f4240'
/** Returns CLZ(1): valid from Osaka on. */
const CLZ = '0x60011e60005260206000f3'

interface Block {
  number: string
  timestamp: string
  calls: { status: string }[]
}

interface Stand {
  gateway: GatewayProcess
  simulate(
    blockStateCalls: object[],
    more?: object,
    block?: string,
  ): Promise<{ result?: Block[]; error?: { code: number; message: string } }>
  stop(): Promise<void>
}

/** A gateway on a node with this chain id and a head of this timestamp. */
async function startStand(
  chainId: number,
  timestamp: number,
  head: object = {},
  answers: Record<string, unknown> = {},
): Promise<Stand> {
  const upstream = await startGenesisUpstream({
    chainId,
    head: { number: numberToHex(200_000_000), timestamp: numberToHex(timestamp), ...head },
    answers,
  })
  const gateway = await startGateway({
    UPSTREAM_RPC_URL: upstream.url,
    EVM_ENGINE: 'native',
    HEAD_MAX_AGE_SECONDS: 'off',
    LIMITS: { gas: 1_000_000_000 },
  })
  return {
    gateway,
    simulate: (blockStateCalls, more = {}, block = 'latest') =>
      gateway.call<Block[]>('eth_simulateV1', [{ blockStateCalls, ...more }, block]),
    async stop() {
      await gateway.stop()
      upstream.close()
    },
  }
}

const probeAt = (time: number) => ({
  blockOverrides: { time: numberToHex(time) },
  stateOverrides: { [CODE]: { code: CLZ } },
  calls: [{ to: CODE, gas: '0x30d40' }],
})

/**
 * When chains activate Osaka's EVM: with Osaka itself, Karst, or Base's Azul. Other chains have the same forks at other times:
 * see `known-chain-rules.test.ts`.
 */
const OSAKA: [name: string, chainId: number, time: number][] = [
  ['Ethereum', 1, 1_764_798_551],
  ['OP Mainnet', 10, 1_783_526_401],
  ['Base', 8_453, 1_779_991_200],
]

describe.each(OSAKA)('activation of Osaka’s EVM on %s', (name, chainId, time) => {
  let stand: Stand
  beforeAll(async () => {
    stand = await startStand(chainId, time - 100, chainId === 1 ? {} : { miner: VAULT, extraData: JOVIAN_EXTRA_DATA })
  })
  afterAll(() => stand?.stop())

  it("activates Osaka's EVM at its fork time, not a second before", async () => {
    const { result, error } = await stand.simulate([time - 1, time, time + 1].map(probeAt))
    expect(error).toBeUndefined()
    expect(result?.map(({ calls }) => calls[0]?.status)).toEqual(['0x0', '0x1', '0x1'])
  })

  it('limits the input of the pairing precompile as its fork does', async () => {
    const zeros = (bytes: number) => ({ to: PAIRING, input: `0x${'00'.repeat(bytes)}`, gas: '0x1c9c380' })
    const at = (when: number) => ({
      blockOverrides: { time: numberToHex(when), gasLimit: '0xbebc200' },
      calls: [57_600, 57_792, 81_984, 82_176].map(zeros),
    })
    const { result } = await stand.simulate([at(time - 1), at(time)])
    const unlimited = ['0x1', '0x1', '0x1', '0x1']
    const jovian = ['0x1', '0x1', '0x1', '0x0']
    const karst = ['0x1', '0x0', '0x0', '0x0']
    const after = name === 'Ethereum' ? unlimited : name === 'Base' ? jovian : karst
    const statuses = result?.map(({ calls }) => calls.map(({ status }) => status))
    expect(statuses).toEqual([name === 'Ethereum' ? unlimited : jovian, after])
  })

  it('caps the gas of validated transactions on the OP stack only', async () => {
    const fees = { maxFeePerGas: '0x3b9aca00', from: SENDER, to: CODE }
    const block = (when: number, gas: string) => ({
      blockOverrides: { time: numberToHex(when), baseFeePerGas: '0x1', gasLimit: '0xbebc200' },
      stateOverrides: { [SENDER]: { balance: numberToHex(10n ** 20n) } },
      calls: [{ ...fees, gas }],
    })
    const validated = (when: number, gas: string) => stand.simulate([block(when, gas)], { validation: true })
    expect((await validated(time - 1, '0x1000001')).error).toBeUndefined()
    expect((await validated(time, '0x1000000')).error).toBeUndefined()
    const { error } = await validated(time, '0x1000001')
    if (name === 'Ethereum') expect(error).toBeUndefined()
    else expect(error?.message).toContain('transaction gas limit too high (cap: 16777216, tx: 16777217)')
    expect((await stand.simulate([block(time, '0x1000001')])).error).toBeUndefined()
  })
})

describe('Base after Denim', () => {
  const TIME = 1_793_901_600
  let stand: Stand
  beforeAll(async () => {
    const number = numberToHex(53_556_127 + 7)
    const head = { number, miner: VAULT, extraData: JOVIAN_EXTRA_DATA, timestampMs: numberToHex(1_000 * TIME + 2_400) }
    stand = await startStand(8_453, TIME + 2, head)
  })
  afterAll(() => stand?.stop())

  it('makes five blocks a second if no time is given', async () => {
    const { result } = await stand.simulate(Array(10).fill({}))
    // The head is the eighth block of the fork, 1.4 s after its first, which came at an odd second.
    const seconds = result?.map(({ timestamp }) => Number(timestamp) - TIME)
    expect(seconds).toEqual([2, 2, 3, 3, 3, 3, 3, 4, 4, 4])
  })

  it('accepts equal timestamps and rejects a lower one (-38021)', async () => {
    const at = (time: number) => ({ blockOverrides: { time: numberToHex(time) } })
    expect((await stand.simulate([at(TIME + 5), at(TIME + 5)])).error).toBeUndefined()
    expect((await stand.simulate([at(TIME + 5), at(TIME + 4)])).error).toMatchObject({ code: -38021 })
  })

  it('rejects simulations that reach a native precompile, and counts them', async () => {
    const call = { to: '0xb20f000000000000000000000000000000000000', input: '0x12345678' }
    const payload = { blockStateCalls: [{ calls: [call] }] }
    const requests: [string, unknown[]][] = [
      ['eth_simulateV1', [payload, 'latest']],
      ['upfront_simulate', [{ ...payload, trace: true, assetChanges: true }, 'latest']],
      ['debug_traceCall', [call, 'latest', { tracer: 'callTracer' }]],
      ['eth_createAccessList', [call, 'latest']],
    ]
    for (const [method, params] of requests) {
      const { error } = await stand.gateway.call(method, params)
      expect({ method, error }).toMatchObject({
        method,
        error: { code: -32000, message: expect.stringContaining(call.to) },
      })
    }
    expect(await stand.gateway.metric('upfront_native_precompile_rejections_total')).toBe(requests.length)
  })

  it("returns the node's timestampMs, and adds none to simulated blocks", async () => {
    const { result } = await stand.gateway.call<object>('eth_getBlockByNumber', ['latest', false])
    expect(result).toMatchObject({ timestampMs: numberToHex(1_000 * TIME + 2_400) })
    // As on Base, whose simulated blocks have none.
    expect((await stand.simulate([{}])).result?.[0]).not.toHaveProperty('timestampMs')
  })

  it('treats pending as latest', async () => {
    const { result } = await stand.simulate([{}], {}, 'pending')
    expect(Number(result?.[0]?.number)).toBe(53_556_127 + 8)
  })
})

describe('a chain with uncertain rules', () => {
  const started: Stand[] = []
  const start = async (...args: Parameters<typeof startStand>) => {
    const stand = await startStand(...args)
    started.push(stand)
    return stand
  }
  afterAll(async () => {
    for (const stand of started) await stand.stop()
  })
  const stateOf = async ({ gateway }: Stand) => {
    const body = { jsonrpc: '2.0', id: 1, method: 'eth_simulateV1', params: [{ blockStateCalls: [{}] }] }
    return (await gateway.post(JSON.stringify(body))).headers.get('upfront-state')
  }
  const ready = async ({ gateway }: Stand) =>
    (await (await fetch(`${gateway.url}/health/ready`)).json()) as { chain: object }
  const statusOfClz = async (stand: Stand) => {
    const { result } = await stand.simulate([{ stateOverrides: { [CODE]: { code: CLZ } }, calls: [{ to: CODE }] }])
    return result?.[0]?.calls[0]?.status
  }
  const probed = { eth_call: `0x${'ff'.padStart(64, '0')}` }
  const op = { miner: VAULT, extraData: JOVIAN_EXTRA_DATA }

  it('is reported as uncertain in every answer, on /health/ready and in the log', async () => {
    const stand = await start(424_242, 1_800_000_000)
    expect(await stateOf(stand)).toMatch(/; rules=uncertain$/)
    expect(await ready(stand)).toMatchObject({
      chain: { uncertain: true, rules: 'inferred', caveats: [expect.any(String)] },
    })
    expect(stand.gateway.output()).toContain('the rules are inferred from the head')
    // Prague, because its node does not execute Osaka's opcode.
    expect(await statusOfClz(stand)).toBe('0x0')
  })

  it.each([
    ['Osaka', {}],
    ['Karst', op],
  ])("is treated as %s if its node executes that fork's opcode", async (_, head) => {
    expect(await statusOfClz(await start(424_242, 1_800_000_000, head, probed))).toBe('0x1')
  })

  const blobSchedule = { target: 6, max: 9, baseFeeUpdateFraction: 5_007_716 }
  const osaka = {
    ...{ activationTime: 1_700_000_000, chainId: numberToHex(424_242), blobSchedule },
    precompiles: { P256VERIFY: '0x0100' },
    systemContracts: {},
  }
  const next = { ...osaka, activationTime: 1_800_000_100, precompiles: { ...osaka.precompiles, NEWEST: '0x0200' } }

  it('is rejected from the time at which eth_config activates an unknown fork, not before', async () => {
    const stand = await start(424_242, 1_800_000_000, {}, { eth_config: { current: osaka, next, last: next } })
    expect((await stand.simulate([probeAt(1_800_000_099)])).result?.[0]?.calls[0]?.status).toBe('0x1')
    const { error } = await stand.simulate([probeAt(1_800_000_100)])
    expect(error?.message).toContain('fork unknown, which is not supported')
    expect(await stateOf(stand)).not.toContain('uncertain')
  })

  it('is simulated with a warning if the unknown fork is active', async () => {
    const stand = await start(424_242, 1_800_000_000, {}, { eth_config: { current: { ...next, activationTime: 1 } } })
    expect(await stateOf(stand)).toMatch(/; rules=uncertain$/)
    expect(JSON.stringify(await ready(stand))).toContain('NEWEST')
  })

  it('reads eth_config of an OP chain as forks of the OP stack', async () => {
    const stand = await start(424_242, 1_800_000_000, op, { eth_config: { current: osaka, next }, ...probed })
    expect(await ready(stand)).toMatchObject({ chain: { rules: 'inferred' } })
    expect((await stand.simulate([probeAt(1_800_000_099)])).result?.[0]?.calls[0]?.status).toBe('0x1')
    expect((await stand.simulate([probeAt(1_800_000_100)])).error?.message).toContain('fork unknown')
  })

  it.each([
    ['before Prague', {}, { requestsHash: undefined }, 'CHAIN_GENESIS_FILE'],
    ['before Jovian', op, { extraData: '0x', requestsHash: undefined }, 'CHAIN_GENESIS_FILE'],
    ['before the Merge', {}, { difficulty: '0x1' }, 'the Merge'],
  ])('rejects blocks %s if only the head shows the rules', async (_, head, changed, told) => {
    const older = { ...changed, timestamp: numberToHex(1_750_000_000), number: '0x10', hash: `0x${'0e'.repeat(32)}` }
    const stand = await start(424_242, 1_800_000_000, head, { ...probed, older })
    const refused = { code: -32000, message: expect.stringContaining(told) }
    expect((await stand.simulate([probeAt(1_750_000_001)], {}, '0x10')).error).toMatchObject(refused)
    expect((await stand.gateway.call('debug_traceCall', [{ to: CODE }, '0x10'])).error).toMatchObject(refused)
    expect((await stand.simulate([probeAt(1_800_000_001)])).error).toBeUndefined()
  })

  it("rejects blocks before eth_config's current fork, and applies its rules from its activation on", async () => {
    const config = { eth_config: { current: { ...osaka, activationTime: 1_799_999_999 } } }
    const older = {
      requestsHash: undefined,
      timestamp: numberToHex(1_750_000_000),
      number: '0x10',
      hash: `0x${'0d'.repeat(32)}`,
    }
    const stand = await start(424_242, 1_800_000_000, {}, { ...config, older })
    const refused = await stand.simulate([probeAt(1_750_000_001)], {}, '0x10')
    expect(refused.error).toMatchObject({ code: -32000, message: expect.stringContaining('CHAIN_GENESIS_FILE') })
    const { result, error } = await stand.simulate([probeAt(1_799_999_999)], {}, '0x10')
    expect(error).toBeUndefined()
    expect(result?.[0]?.calls[0]?.status).toBe('0x1')
  })
})
