import {
  DEVNET_ROLES,
  type Devnet,
  type FaultProxy,
  startDevnet,
  startFaultProxy,
  swapRouterAbi,
  TEST_TOKEN_SLOTS,
} from '@upfront/devnet'
import { CallQueue } from '@upfront/node'
import {
  type Address,
  type Call,
  DEFAULT_SIMULATION_LIMITS,
  type Hash,
  type Hex,
  type StateOverride,
} from '@upfront/protocol'
import {
  Driver,
  type PinnedBlock,
  pinnedState,
  planSimulation,
  type SimulationPlan,
  type StateRead,
} from '@upfront/simulation'
import { encodeAbiParameters, encodeFunctionData, keccak256, parseEther } from 'viem'
import { driveLimits, NodeState } from './node-state.js'

const LATEST = { kind: 'tag', tag: 'latest' } as const
const STRANGER: Address = '0x00000000000000000000000000000000005745a6'

/** The state that a call touches according to the node, independent of our prefetching. */
async function touched(rpcUrl: string, call: object, stateOverrides: object): Promise<StateRead[]> {
  const params = [call, 'latest', { tracer: 'prestateTracer', stateOverrides }]
  const answer = await fetch(rpcUrl, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'debug_traceCall', params }),
  })
  const { result } = (await answer.json()) as { result: Record<Address, { storage?: Record<Hash, Hash> }> }
  return Object.entries(result).flatMap(([key, { storage }]) => {
    const address = key as Address
    const account: StateRead[] = (['balance', 'nonce', 'code'] as const).map((kind) => ({ kind, address }))
    return [...account, ...Object.keys(storage ?? {}).map((slot) => ({ kind: 'storage', address, slot }) as StateRead)]
  })
}

const OTHER: Address = `0x${'0e'.repeat(20)}`
const nonce = (address: Address): StateRead => ({ kind: 'nonce', address })

describe('prefetching', () => {
  let devnet: Devnet
  let proxy: FaultProxy
  const opened: NodeState[] = []

  beforeAll(async () => {
    devnet = await startDevnet({ payments: false, uniswap: true })
    proxy = await startFaultProxy(devnet.rpcUrl)
  })
  afterEach(async () => {
    proxy.lacks.clear()
    proxy.faultOf = undefined
    await Promise.all(opened.splice(0).map((chain) => chain.close()))
  })
  afterAll(async () => {
    await proxy.stop()
    await devnet.stop()
  })

  /** A swap by the account that made the pool, or by one that only has what overrides give it. */
  function swap(by: 'owner' | 'stranger'): {
    call: Call & { from: Address }
    stateOverrides: StateOverride[]
    asJson: object
  } {
    const { router, poolV3, token0 } = devnet.uniswap!
    const from = by === 'owner' ? (DEVNET_ROLES.deployer.address.toLowerCase() as Address) : STRANGER
    const args = [poolV3, token0, parseEther('1'), 0n, from] as const
    const input: Hex = encodeFunctionData({ abi: swapRouterAbi, functionName: 'swapV3', args })
    const call = { from, to: router.toLowerCase() as Address, input }
    if (by === 'owner') return { call, stateOverrides: [], asJson: {} }
    const balance = mappingSlot(STRANGER, TEST_TOKEN_SLOTS.balanceOf)
    const allowance = mappingSlot(router, mappingSlot(STRANGER, TEST_TOKEN_SLOTS.allowance))
    const rich: Hash = `0x${'00'.repeat(16)}${'ff'.repeat(16)}`
    const token = token0.toLowerCase() as Address
    const stateDiff: [Hash, Hash][] = [
      [balance, rich],
      [allowance, rich],
    ]
    return {
      call,
      stateOverrides: [
        { address: STRANGER, balance: parseEther('1') },
        { address: token, stateDiff },
      ],
      asJson: { [STRANGER]: { balance: '0xde0b6b3a7640000' }, [token]: { stateDiff: Object.fromEntries(stateDiff) } },
    }
  }

  async function openChain(
    by: 'owner' | 'stranger' = 'stranger',
  ): Promise<{ chain: NodeState; block: PinnedBlock; plan: SimulationPlan }> {
    const chain = new NodeState([proxy.url])
    opened.push(chain)
    const rules = await chain.rules()
    const block = await chain.resolver.resolve(LATEST)
    const { call, stateOverrides } = swap(by)
    const blockStateCalls = [{ calls: [call], stateOverrides, blockOverrides: {} }]
    const request = {
      blockStateCalls,
      traceTransfers: false,
      validation: false,
      returnFullTransactions: false,
      block: LATEST,
    }
    const plan = planSimulation(request, block.header, rules, DEFAULT_SIMULATION_LIMITS)
    proxy.reset()
    return { chain, block, plan }
  }

  /** The first reads of an engine that has no state yet. */
  function firstLack({ blocks: [block] }: SimulationPlan): StateRead[] {
    const { from, to } = block!.calls[0]!
    return [nonce(from), { kind: 'code', address: to! }]
  }

  it.each([
    { node: 'traces', lacks: [], by: 'stranger', most: 2 },
    { node: 'traces', lacks: [], by: 'owner', most: 2 },
    { node: 'does not trace', lacks: ['debug_traceCall'], by: 'owner', most: 60 },
  ] as const)(
    'reads a first swap by the $by in at most $most HTTP requests if the node $node',
    async ({ lacks, by, most }) => {
      for (const method of lacks) proxy.lacks.add(method)
      const { call, stateOverrides, asJson } = swap(by)
      const reads = (await touched(devnet.rpcUrl, call, asJson)).filter((read) => !isOverridden(read, stateOverrides))
      expect(reads.filter(({ kind }) => kind === 'storage').length).toBeGreaterThan(8)
      const { chain, block, plan } = await openChain(by)
      await chain.readFor(plan, block, firstLack(plan), ...reads.map((read) => [read]))
      expect(proxy.stats.requests).toBeLessThanOrEqual(most)
      expect(proxy.stats.byMethod.debug_traceCall).toBe(1)
    },
  )

  it('asks for the hint of a contract once, whatever the block', async () => {
    const { chain, block, plan } = await openChain()
    await chain.readFor(plan, block, firstLack(plan))
    expect(proxy.stats.byMethod).toMatchObject({ debug_traceCall: 1 })
    await chain.readFor(plan, { ...block, key: `0x${'e1'.repeat(32)}` }, firstLack(plan))
    expect(proxy.stats.byMethod).toMatchObject({ debug_traceCall: 1 })
  })

  it('sends no hint request if hints are off', async () => {
    const { chain, block, plan } = await openChain()
    const driver = new Driver(chain.engine, chain.client, new CallQueue(chain.client), { hints: false })
    chain.engine.script = [firstLack(plan)]
    await driver.simulate(plan, pinnedState(block), driveLimits())
    const reads = ['eth_getBalance', 'eth_getCode', 'eth_getTransactionCount']
    expect(Object.keys(proxy.stats.byMethod).sort()).toEqual(reads)
  })

  it('sends no hint request if a plan overrides 2,000 slots', async () => {
    const { chain, block, plan } = await openChain()
    const word = (n: number): Hash => `0x${n.toString(16).padStart(64, '0')}`
    const stateDiff = Array.from({ length: 2_000 }, (_, n): [Hash, Hash] => [word(n), word(1)])
    plan.blocks[0]!.stateOverrides.push({ address: STRANGER, stateDiff })
    await chain.readFor(plan, block, firstLack(plan))
    expect(proxy.stats.byMethod).not.toHaveProperty('debug_traceCall')
    expect(proxy.stats.byMethod).toMatchObject({ eth_getCode: 1 })
  })

  it('reads on the last known head while the node is asked for the head', async () => {
    const { chain, plan } = await openChain()
    chain.engine.script = [firstLack(plan)]
    const left = new AbortController()
    proxy.faultOf = (method) => (method === 'eth_getBlockByNumber' ? 'silent' : undefined)
    const reading = chain.resolver.onBlock(LATEST, left, (block, cancellation) =>
      chain.driver.simulate(plan, pinnedState(block), { ...driveLimits(), cancellation }),
    )
    const cancelled = expect(reading).rejects.toThrow('enough')
    const { byMethod } = proxy.stats
    await until(() => byMethod.eth_getBlockByNumber === 1 && byMethod.debug_traceCall === 1)
    left.abort(new Error('enough'))
    await cancelled
  })

  it('asks for the hint of a known contract again if it calls an unknown one', async () => {
    const { chain, block, plan } = await openChain()
    await chain.readFor(plan, block, firstLack(plan))
    await until(() => proxy.stats.byMethod.debug_traceCall === 1)
    const address = devnet.uniswap!.pairV2.toLowerCase() as Address
    await chain.readFor(plan, block, [{ kind: 'code', address }])
    await until(() => proxy.stats.byMethod.debug_traceCall === 2)
  })

  it('tries eth_createAccessList with the next reads if debug_traceCall is missing, and does not try that again', async () => {
    proxy.lacks.add('debug_traceCall')
    const { chain, block, plan } = await openChain()
    await chain.readFor(plan, block, firstLack(plan), [{ kind: 'balance', address: OTHER }])
    expect(proxy.stats).toMatchObject({ requests: 2, byMethod: { debug_traceCall: 1, eth_createAccessList: 1 } })
    const other = toContract(plan, devnet.uniswap!.pairV2.toLowerCase() as Address)
    await chain.readFor(other, block, firstLack(other))
    expect(proxy.stats.byMethod).toMatchObject({ debug_traceCall: 1 })
  })

  it('reads nothing that the request overrides, and nothing again on a warm block', async () => {
    const { chain, block, plan } = await openChain()
    const codeOfToken: StateRead = { kind: 'code', address: plan.blocks[0]!.stateOverrides[1]!.address }
    await chain.readFor(plan, block, firstLack(plan))
    await until(() => chain.engine.missing(block.key, [codeOfToken]).length === 0)
    await until(() => (proxy.stats.byMethod.eth_getStorageAt ?? 0) > 3)
    const before = proxy.stats.requests
    await chain.readFor(plan, block, [nonce(STRANGER)], [codeOfToken])
    expect(proxy.stats.requests).toBe(before)
    await chain.readFor(plan, block, [{ kind: 'balance', address: STRANGER }])
    expect(proxy.stats.requests).toBe(before + 1)
  })

  it('reads 1,000 unknown accounts in at most 5 HTTP requests', async () => {
    const { chain, block, plan } = await openChain()
    const reads = Array.from(
      { length: 1_000 },
      (_, n) => `0x${(n + 1).toString(16).padStart(40, '5')}` as Address,
    ).flatMap((address): StateRead[] => [
      { kind: 'balance', address },
      { kind: 'nonce', address },
      { kind: 'code', address },
    ])
    await chain.readFor(plan, block, reads)
    expect(proxy.stats.requests).toBeLessThanOrEqual(5)
  })
})

async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await new Promise((resolve) => setTimeout(resolve, 5))
}

function toContract(plan: SimulationPlan, to: Address): SimulationPlan {
  const [block] = plan.blocks
  return { ...plan, blocks: [{ ...block!, calls: [{ ...block!.calls[0]!, to }] }] }
}

function isOverridden(read: StateRead, overrides: StateOverride[]): boolean {
  if (read.kind === 'blockHash') return false
  const override = overrides.find(({ address }) => address === read.address)
  if (override === undefined) return false
  if (read.kind === 'storage') return override.stateDiff?.some(([slot]) => slot === read.slot) ?? false
  return override[read.kind] !== undefined
}

function mappingSlot(key: Address, slot: bigint | Hash): Hash {
  return keccak256(encodeAbiParameters([{ type: 'address' }, { type: 'uint256' }], [key, BigInt(slot)]))
}
