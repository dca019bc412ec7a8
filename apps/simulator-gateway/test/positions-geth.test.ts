import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  type BuiltGeth,
  findGeth,
  GETH_DEVELOPER,
  GETH_GENESIS,
  Random,
  startBuiltGeth,
  Traffic,
} from '@upfront/devnet'
import { withAmsterdam } from '@upfront/engine-conformance'
import { type Hex, numberToHex, zeroAddress } from 'viem'
import { assemble } from './assemble.js'
import { type GatewayProcess, startGateway } from './gateway-process.js'

// Compares positions in random blocks, and the transactions at them, field by field with geth's answers.
// `npm run test:positions` compares ten thousand.
const POSITIONS = Number(process.env.POSITIONS ?? 50)
const SEED = Number(process.env.POSITION_SEED ?? 29)
const BLOCKS = Math.min(400, 12 + Math.ceil(POSITIONS / 50))
const path = findGeth()
const suite = path === undefined ? describe.skip : describe
const title = 'positions in blocks, compared with geth'

const TRACERS: object[] = [
  { tracer: 'callTracer', tracerConfig: { withLog: true } },
  { tracer: 'callTracer' },
  { tracer: 'callTracer', tracerConfig: { onlyTopCall: true } },
  { tracer: 'prestateTracer' },
  { tracer: 'prestateTracer', tracerConfig: { diffMode: true } },
  { tracer: 'prestateTracer', tracerConfig: { diffMode: true, disableCode: true } },
  { tracer: '4byteTracer' },
  { tracer: 'erc7562Tracer' },
  { tracer: 'flatCallTracer' },
  { tracer: 'flatCallTracer', tracerConfig: { convertParityErrors: true, includePrecompiles: true } },
  { tracer: 'keccak256PreimageTracer' },
  { tracer: 'noopTracer' },
  { tracer: 'muxTracer', tracerConfig: { callTracer: { withLog: true }, prestateTracer: null, erc7562Tracer: {} } },
  {},
  { enableMemory: true, enableReturnData: true },
  { disableStack: true, disableStorage: true },
]

suite(path === undefined ? `${title} (skipped: no geth here, see GETH)` : title, () => {
  const random = new Random(SEED)
  const blocks: { number: Hex; hash: Hex; transactions: Hex[] }[] = []
  let geth: BuiltGeth
  let gateway: GatewayProcess
  let traffic: Traffic
  let folder: string

  beforeAll(
    async () => {
      // Blocks are about two seconds apart, so half of them are Osaka's.
      const genesis = withAmsterdam(GETH_GENESIS, BLOCKS)
      folder = await mkdtemp(join(tmpdir(), 'upfront-positions-'))
      const genesisFile = join(folder, 'genesis.json')
      await writeFile(genesisFile, JSON.stringify(genesis))
      geth = await startBuiltGeth(path as string, genesis)
      traffic = new Traffic(random, geth.rpc, 1337, GETH_DEVELOPER.privateKey)
      await traffic.begin()
      for (let made = 0; made < BLOCKS; made += 1) {
        const feeRecipient = traffic.feeRecipient()
        await geth.build({ feeRecipient, withdrawals: traffic.withdrawals(made) })
        blocks.push(await geth.rpc('eth_getBlockByNumber', ['latest', false]))
        await traffic.send()
      }
      gateway = await startGateway({
        UPSTREAM_RPC_URL: geth.rpcUrl,
        CHAIN_GENESIS_FILE: genesisFile,
        DIALECT: 'ethereum',
      })
    },
    60_000 + 1_000 * BLOCKS,
  )
  afterAll(async () => {
    await gateway?.stop()
    await geth?.stop()
    if (folder !== undefined) await rm(folder, { recursive: true })
  })

  type Reply = { result?: unknown; error?: unknown }
  const ofGeth = async (method: string, params: unknown[]): Promise<Reply> => {
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })
    const response = await fetch(geth.rpcUrl, { method: 'POST', headers: { 'content-type': 'application/json' }, body })
    const { result, error } = (await response.json()) as Reply
    return error === undefined ? { result } : { error }
  }
  const ofOurs = async (method: string, params: unknown[]): Promise<Reply> => {
    const { result, error } = await gateway.call(method, params)
    return error === undefined ? { result } : { error }
  }
  /** How many answers have a result. */
  let told = 0
  const differences = async (questions: [method: string, params: unknown[]][]) => {
    const found: unknown[] = []
    for (const [method, params] of questions) {
      const [theirs, ours] = await Promise.all([ofGeth(method, params), ofOurs(method, params)])
      if (ours.result !== undefined) told += 1
      if (JSON.stringify(sorted(ours)) !== JSON.stringify(sorted(theirs)))
        found.push({ method, params, ...firstDifference(sorted(ours), sorted(theirs)) })
    }
    return found
  }

  const LOOKING = assemble(
    'NUMBER 0 MSTORE 1 NUMBER SUB BLOCKHASH 32 MSTORE NUMBER BLOCKHASH 64 MSTORE TIMESTAMP 96 MSTORE COINBASE BALANCE 128 MSTORE CALLER BALANCE 160 MSTORE BASEFEE 192 MSTORE 224 0 RETURN',
  )
  const code = '0x00000000000000000000000000000000000c0de7'
  const developer = GETH_DEVELOPER.address

  function someCall(): { call: object; overrides: object } {
    if (random.chance(20))
      return { call: { from: traffic.sender(), to: code }, overrides: { [code]: { code: LOOKING } } }
    const { to, data = '0x', value = 0n } = traffic.call()
    const priced = random.one<object>([
      {},
      { gasPrice: '0x174876e800' },
      { maxFeePerGas: '0x174876e800', maxPriorityFeePerGas: '0x5' },
    ])
    return {
      call: { from: traffic.sender(), to, data, value: numberToHex(value), gas: '0x7a120', ...priced },
      overrides: {},
    }
  }

  it(
    `debug_traceCall is equal at ${POSITIONS} random positions`,
    async () => {
      const questions: [string, unknown[]][] = []
      for (let asked = 0; asked < POSITIONS; asked += 1) {
        const block = random.one(blocks)
        const txIndex = numberToHex(random.below(block.transactions.length + 2))
        const { call, overrides } = someCall()
        const blockOverrides = random.one<object>([
          {},
          {},
          { number: numberToHex(BigInt(block.number) + 1n) },
          { time: '0x77359400' },
        ])
        const config = { ...random.one(TRACERS), txIndex, stateOverrides: overrides, blockOverrides }
        const named = random.one<unknown>([block.number, block.hash, { blockHash: block.hash }])
        questions.push(['debug_traceCall', [call, named, config]])
      }
      expect((await differences(questions)).slice(0, 3)).toEqual([])
      // The others are beyond the end of their block.
      expect(told).toBeGreaterThan(POSITIONS / 2)
      expect(blocks.some(({ transactions }) => transactions.length > 5)).toBe(true)
    },
    60_000 + 60 * POSITIONS,
  )

  it(
    'debug_traceTransaction is equal',
    async () => {
      const all = blocks.flatMap(({ transactions }) => transactions)
      const asked = Math.min(POSITIONS, 4 * all.length)
      const questions = Array.from({ length: asked }, (): [string, unknown[]] => [
        'debug_traceTransaction',
        [random.one(all), random.one(TRACERS)],
      ])
      expect((await differences(questions)).slice(0, 3)).toEqual([])
    },
    60_000 + 60 * POSITIONS,
  )

  it(
    'debug_traceBlockByNumber and debug_traceBlockByHash are equal',
    async () => {
      const questions = blocks.flatMap(({ number, hash }): [string, unknown[]][] =>
        random.chance(50)
          ? [['debug_traceBlockByNumber', [number, random.one(TRACERS)]]]
          : [['debug_traceBlockByHash', [hash, random.one(TRACERS)]]],
      )
      expect((await differences(questions)).slice(0, 3)).toEqual([])
    },
    60_000 + 500 * BLOCKS,
  )

  it('every other method runs a call at a position as it is traced there', async () => {
    for (let asked = 0; asked < 30; asked += 1) {
      const { number, hash, transactions } = random.one(blocks.slice(2))
      const transactionIndex = random.below(transactions.length + 1)
      const { call, overrides } = someCall()
      const at = random.one<object>([
        { blockNumber: number, transactionIndex },
        { blockHash: hash, transactionIndex: numberToHex(transactionIndex) },
      ])
      const traced = await ofOurs('debug_traceCall', [call, at, { tracer: 'callTracer', stateOverrides: overrides }])
      const { output = '0x', error, gasUsed } = traced.result as { output?: Hex; error?: string; gasUsed: Hex }
      const called = await ofOurs('eth_call', [call, at, overrides])
      expect(error === undefined ? called.result : called.error).toEqual(
        error === undefined ? output : expect.anything(),
      )
      const payload = { blockStateCalls: [{ calls: [call], stateOverrides: overrides }] }
      const simulated = await ofOurs('eth_simulateV1', [payload, at])
      expect(await ofOurs('upfront_simulate', [payload, at])).toEqual(simulated)
      const [{ calls, ...block }] = simulated.result as [{ number: Hex; calls: { gasUsed: Hex; status: Hex }[] }]
      expect([block.number, calls[0]]).toEqual([
        number,
        expect.objectContaining({ gasUsed, status: error ? '0x0' : '0x1' }),
      ])
      // A simulated block has its base fee; in a call without a price it is zero.
      if ((call as { to: Hex }).to === code) continue
      const many = await ofOurs('eth_callMany', [
        [{ transactions: [call] }],
        { blockNumber: hash, transactionIndex },
        overrides,
      ])
      expect(many.result).toEqual([[error === undefined ? { value: output } : { error: expect.any(String) }]])
    }
  })

  it('a sweep tells at which positions of a block a call succeeds', async () => {
    const { hash, transactions } = blocks.findLast((block) => block.transactions.length > 6)!
    const receipts = await geth.rpc<Record<'status' | 'gasUsed' | 'from', Hex>[]>('eth_getBlockReceipts', [hash])
    // Succeeds only at its own position: after it, the nonce is used.
    const index = transactions.length - 2
    const sent = await geth.rpc<Record<string, Hex>>('eth_getTransactionByHash', [transactions[index]])
    const { from, to, input, value, nonce, gas } = sent
    const call = { from, to, input, value, nonce, gas, maxFeePerGas: '0x174876e800', maxPriorityFeePerGas: '0x1' }
    const payload = { blockStateCalls: [{ calls: [call] }], validation: true, positions: 'all' }
    const { result } = await ofOurs('upfront_simulate', [payload, hash])
    const outcomes = result as { transactionIndex: Hex; before?: Hex; status?: Hex; gasUsed?: Hex; rejected?: object }[]
    expect(outcomes.map(({ transactionIndex, before }) => ({ transactionIndex, before }))).toEqual(
      [...transactions, undefined].map((before, n) => ({ transactionIndex: numberToHex(n), before })),
    )
    expect(outcomes[index]).toMatchObject({ status: receipts[index]?.status })
    expect(outcomes[index + 1]).toMatchObject({ rejected: { code: -38010, message: expect.stringContaining('nonce') } })
    // The same as at each position alone, with the assets that move.
    const [transfer] = [{ from, to: developer, value: '0x5' }]
    const swept = { blockStateCalls: [{ calls: [transfer] }], assetChanges: true }
    const some = [3, 0, numberToHex(transactions.length)]
    const shown = ({ result }: Reply) => (result as { assetChanges: object }[]).map(({ assetChanges }) => assetChanges)
    const alone = async (positions: (number | Hex)[], payload: object) => {
      const at = (transactionIndex: number | Hex) =>
        ofOurs('upfront_simulate', [payload, { blockHash: hash, transactionIndex }])
      return (await Promise.all(positions.map(at))).map(
        ({ result }) => (result as [{ calls: { assetChanges: object }[] }])[0].calls[0],
      )
    }
    const moved = await ofOurs('upfront_simulate', [{ ...swept, positions: some }, hash])
    expect(shown(moved)).toEqual((await alone(some, swept)).map((call) => call?.assetChanges))
  })

  it('a sweep runs a call again only if a value that it reads has changed', async () => {
    const executed = async () =>
      (
        await Promise.all(
          ['read', 'cached'].map((state) => gateway.metric(`upfront_simulations_total{state="${state}"}`)),
        )
      )
        .filter((count) => !Number.isNaN(count))
        .reduce((sum, count) => sum + count, 0)
    let positions = 0
    let runs = 0
    for (const { hash, transactions } of blocks.slice(-8)) {
      const all = Array.from({ length: transactions.length + 1 }, (_, index) => index)
      for (let asked = 0; asked < 6; asked += 1) {
        const { call, overrides } = someCall()
        const payload = {
          blockStateCalls: [{ calls: [call], stateOverrides: overrides }],
          assetChanges: random.chance(50),
        }
        const before = await executed()
        const swept = await ofOurs('upfront_simulate', [{ ...payload, positions: 'all' }, hash])
        runs += (await executed()) - before
        positions += all.length
        const alone = await Promise.all(
          all.map((transactionIndex) => ofOurs('upfront_simulate', [payload, { blockHash: hash, transactionIndex }])),
        )
        expect(swept.result).toEqual(
          alone.map(({ result, error }, index) => {
            const place = {
              transactionIndex: numberToHex(index),
              ...(transactions[index] && { before: transactions[index] }),
            }
            if (error !== undefined) return { ...place, rejected: error }
            const { logs: _, maxUsedGas, ...outcome } = (result as [{ calls: [Record<string, unknown>] }])[0].calls[0]
            return { ...place, ...outcome }
          }),
        )
      }
    }
    expect(runs).toBeGreaterThan(48)
    expect(runs).toBeLessThan(0.9 * positions)
  })

  it('a sweep returns the outcome of a call whose block could not be sealed', async () => {
    const { hash, transactions } = blocks.at(-1)!
    // The chain has no deposit contract, so it is the zero address. A deposit log without its data.
    const deposit = BigInt('0x649bbc62d0e31342afea4e5cd82d4049e7e1ee912fc0889aa790803be39038c5')
    const stateOverrides = { [zeroAddress]: { code: assemble(`${deposit} 0 0 LOG1 STOP`) } }
    const payload = { blockStateCalls: [{ stateOverrides, calls: [{ to: zeroAddress }] }] }
    for (const block of [hash, { blockHash: hash, transactionIndex: 0 }])
      expect((await ofOurs('eth_simulateV1', [payload, block])).error).toMatchObject({
        message: expect.stringContaining('failed to parse deposit logs'),
      })
    expect((await ofGeth('eth_simulateV1', [payload, hash])).error).toMatchObject({
      message: expect.stringContaining('failed to parse deposit logs'),
    })
    const { result } = await ofOurs('upfront_simulate', [{ ...payload, positions: 'all' }, hash])
    expect((result as { status?: Hex }[]).map(({ status }) => status)).toEqual(
      Array(transactions.length + 1).fill('0x1'),
    )
  })

  it("in the node's pending block, state equals geth's, and nonces are those after sealing", async () => {
    await traffic.send()
    const { transactions } = await geth.rpc<{ transactions: { hash: Hex; from: Hex }[] }>('eth_getBlockByNumber', [
      'pending',
      true,
    ])
    expect(transactions.length).toBeGreaterThan(2)
    const senders = [...new Set(transactions.map(({ from }) => from))]
    const after = (method: string, count: number, blockNumber: Hex | 'pending') =>
      Promise.all(senders.map((from) => ofOurs(method, [from, { blockNumber, transactionIndex: count }])))
    for (const method of ['eth_getBalance', 'eth_getTransactionCount'])
      expect(await after(method, transactions.length, 'pending')).toEqual(
        await Promise.all(senders.map((from) => ofGeth(method, [from, 'pending']))),
      )
    // Balances differ by fees: gas may depend on the time and on the beacon root, which a block under construction lacks.
    const nonces = (block: Hex | 'pending') =>
      Promise.all(transactions.map((_, index) => after('eth_getTransactionCount', index, block)))
    const before = await nonces('pending')
    const { from } = transactions.at(-1)!
    const nonce = (await after('eth_getTransactionCount', transactions.length - 1, 'pending'))[senders.indexOf(from)]
    const calls = [{ from, to: developer, nonce: nonce?.result }]
    const sweep = (block: Hex | 'pending') =>
      ofOurs('upfront_simulate', [{ blockStateCalls: [{ calls }], positions: 'all', validation: true }, block])
    const swept = await sweep('pending')
    const seal = async () => {
      const hash = await geth.build({ feeRecipient: '0x0000000000000000000000000000000000000000', withdrawals: [] })
      return geth.rpc<{ number: Hex; transactions: Hex[] }>('eth_getBlockByHash', [hash, false])
    }
    let sealed = await seal()
    // A busy geth may seal its block before it adds the transactions.
    while (sealed.transactions.length === 0) sealed = await seal()
    expect(sealed.transactions).toEqual(transactions.map(({ hash }) => hash))
    expect(before).toEqual(await nonces(sealed.number))
    expect(swept.result).toEqual((await sweep(sealed.number)).result)
  })

  it("debug_traceBlockByNumber is equal at the node's pending block", async () => {
    await traffic.send()
    const timeOfPending = async () =>
      (await geth.rpc<{ timestamp: Hex }>('eth_getBlockByNumber', ['pending', false])).timestamp
    const traces = async (answer: typeof ofOurs, tracer: object) =>
      (await answer('debug_traceBlockByNumber', ['pending', tracer])).result as { result: unknown }[]
    for (const tracer of TRACERS)
      for (;;) {
        const time = await timeOfPending()
        const [ours, theirs] = await Promise.all([traces(ofOurs, tracer), traces(ofGeth, tracer)])
        // geth makes its pending block again every two seconds.
        if ((await timeOfPending()) !== time) continue
        expect(ours.length).toBeGreaterThan(2)
        // geth shows the hash of a block that nobody else can make.
        const withoutHash = (frame: object) => ('blockHash' in frame ? { ...frame, blockHash: null } : frame)
        const shown = theirs.map((each) => ({
          ...each,
          result: Array.isArray(each.result) ? each.result.map(withoutHash) : each.result,
        }))
        const both = [sorted(ours), sorted(shown)] as const
        const isSame = JSON.stringify(both[0]) === JSON.stringify(both[1])
        expect(isSame ? undefined : [tracer, firstDifference(...both)]).toBeUndefined()
        break
      }
  })

  it.each([
    [{ positions: [0, 1_000] }, 'positions[1]: the block has '],
    [{ positions: [] }, 'positions: expected "all" or a list of positions'],
    [{ positions: Array(500).fill(0) }, 'positions: the block has '],
    [{ positions: ['x'] }, 'positions[0]: expected a hex quantity'],
    [{ positions: 'all', trace: true }, 'trace: cannot be combined with `positions`'],
    [
      { positions: 'all', blockStateCalls: [{ calls: [] }] },
      'blockStateCalls: expected one block with one call, as `positions` is set',
    ],
  ])('rejects sweep %# and names the field', async (asked, message) => {
    const { error } = await gateway.call('upfront_simulate', [
      { blockStateCalls: [{ calls: [{ to: code }] }], ...asked },
      blocks.find(({ transactions }) => transactions.length > 1)!.number,
    ])
    expect(error).toMatchObject({ code: -32602, message: expect.stringContaining(message) })
  })

  it('the rest of a block, simulated at a position, has its receipts', async () => {
    for (const { hash, transactions } of blocks.slice(-8)) {
      const from = random.below(transactions.length + 1)
      const receipts = await geth.rpc<Record<'gasUsed' | 'status', Hex>[]>('eth_getBlockReceipts', [hash])
      const sent = await geth.rpc<{ transactions: Record<string, Hex>[] }>('eth_getBlockByHash', [hash, true])
      const calls = sent.transactions.slice(from).map(({ gasPrice, maxFeePerGas, ...rest }) => ({
        ...rest,
        ...(maxFeePerGas === undefined ? { gasPrice } : { maxFeePerGas }),
        type: undefined,
        hash: undefined,
      }))
      const { result, error } = await ofOurs('eth_simulateV1', [
        { blockStateCalls: [{ calls }], validation: true },
        { blockHash: hash, transactionIndex: from },
      ])
      expect(error).toBeUndefined()
      const [block] = result as [{ calls: Record<'gasUsed' | 'status', Hex>[] }]
      const shown = (all: Record<'gasUsed' | 'status', Hex>[]) =>
        all.map(({ gasUsed, status }) => ({ gasUsed, status }))
      expect(shown(block.calls)).toEqual(shown(receipts.slice(from)))
    }
  })

  it.each([
    [
      ['eth_call', [{ to: code }, { blockNumber: '0x3', transactionIndex: 1_000 }]],
      /^params\[1\]\.transactionIndex: block 3 has \d+ transactions?, got 1000$/,
    ],
    [
      ['eth_call', [{ to: code }, { blockNumber: '0x3', transactionIndex: -1 }]],
      /^params\[1\]\.transactionIndex: expected a number of transactions, got -1$/,
    ],
    [['eth_call', [{ to: code }, { blockNumber: '0x3', transactionIndex: '7' }]], /^params\[1\]\.transactionIndex: /],
    [
      ['eth_call', [{ to: code }, { blockNumber: 'pending', transactionIndex: 1_000 }]],
      /^params\[1\]\.transactionIndex: block \d+ has \d+ transactions?, got 1000$/,
    ],
    [
      ['eth_getBlockReceipts', [{ blockNumber: '0x3', transactionIndex: 0 }]],
      /^params\[0\]\.transactionIndex: expected a whole block/,
    ],
    [
      ['debug_traceCall', [{ to: code }, { blockNumber: '0x3', transactionIndex: 0 }, { txIndex: '0x1' }]],
      /^params\[2\]\.txIndex: cannot be combined with/,
    ],
    [['debug_traceTransaction', ['0x12']], /^params\[0\]: /],
    [['debug_traceTransaction', []], /^missing value for required argument 0$/],
    [['debug_traceBlockByNumber', ['0x3', { tracer: 'none' }]], /^params\[1\]\.tracer: /],
  ] as [[string, unknown[]], RegExp][])('rejects %j and names the field', async ([method, params], message) => {
    const { error } = await gateway.call(method, params)
    expect(error).toMatchObject({ code: -32602, message: expect.stringMatching(message) })
  })

  it("unknown blocks, transactions and positions get geth's errors", async () => {
    const unknown = `0x${'77'.repeat(32)}`
    const [, { number, hash, transactions }] = blocks as [unknown, (typeof blocks)[number]]
    expect(
      await differences([
        ['debug_traceTransaction', [unknown]],
        ['debug_traceBlockByNumber', ['0x0']],
        ['debug_traceBlockByNumber', ['0xfffff']],
        ['debug_traceBlockByHash', [unknown]],
        ['debug_traceCall', [{ to: code }, number, { txIndex: numberToHex(transactions.length) }]],
        ['debug_traceCall', [{ to: code }, hash, { txIndex: '0x100000' }]],
        ['debug_traceCall', [{ to: code }, '0x0', { txIndex: '0x0' }]],
      ]),
    ).toEqual([])
  })
})

/** The first difference between two answers, with both values. */
function firstDifference(ours: unknown, theirs: unknown, at = ''): { at: string; ours: unknown; theirs: unknown } {
  if (typeof ours === 'object' && typeof theirs === 'object' && ours !== null && theirs !== null)
    for (const key of new Set([...Object.keys(ours), ...Object.keys(theirs)])) {
      const [one, other] = [(ours as Record<string, unknown>)[key], (theirs as Record<string, unknown>)[key]]
      if (JSON.stringify(one) !== JSON.stringify(other)) return firstDifference(one, other, `${at}.${key}`)
    }
  return { at, ours, theirs }
}

/** The order of an object's fields does not matter. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([key, each]) => [key, sorted(each)]),
  )
}
