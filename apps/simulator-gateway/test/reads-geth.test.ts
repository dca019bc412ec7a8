import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import {
  type BuiltGeth,
  deployUniswap,
  type FaultProxy,
  findGeth,
  GETH_DEVELOPER,
  startBuiltGeth,
  startFaultProxy,
  swapRouterAbi,
  TEST_TOKEN_SLOTS,
  testTokenAbi,
  type UniswapContracts,
} from '@upfront/devnet'
import {
  type Address,
  createWalletClient,
  encodeAbiParameters,
  encodeFunctionData,
  type Hex,
  http,
  keccak256,
  numberToHex,
  parseEther,
} from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { assemble } from './assemble.js'
import { type GatewayProcess, startGateway } from './gateway-process.js'
import { connect } from './web-socket-client.js'

// Compares reads of blocks that the gateway holds field by field with geth's answers at the same block.
// `npm run test:reads` asks thousands of random questions.
const QUESTIONS = Number(process.env.READ_QUESTIONS ?? 300)
const INTERVAL_MS = 250
/** JUMPDEST, PUSH1 0, JUMP. */
const LOOP = '0x5b600056'
const path = findGeth()
const suite = path === undefined ? describe.skip : describe
const title = "reads of held blocks equal geth's"

interface Question {
  method: string
  params: unknown[]
}

suite(path === undefined ? `${title} (skipped: no geth here, see GETH)` : title, () => {
  const developer = privateKeyToAccount(GETH_DEVELOPER.privateKey)
  const code = '0x00000000000000000000000000000000000c0de7'
  let geth: BuiltGeth
  let node: FaultProxy
  let gateway: GatewayProcess
  let uniswap: UniswapContracts
  let sealing: Promise<void>
  let going = true
  let nonce = 0
  let fill = async (): Promise<unknown> => undefined
  /** Number of blocks between reorganisations; 0 for none. */
  let reorganisesEvery = 0
  let reorganised = 0
  /** Transactions of blocks that were not reverted: a revert is not announced before the next block. */
  let hashes: Hex[] = []
  let last: Promise<unknown> = Promise.resolve()
  /** Questions and reorganisations take turns: both sides answer at the same block, which exists until they have. */
  const exclusively = <T>(work: () => Promise<T>): Promise<T> => {
    const done = last.then(work)
    last = done.catch(() => undefined)
    return done
  }

  /** Reverts the last blocks: the next ones have other transactions on an older block. */
  async function reorganise(): Promise<void> {
    const head = Number(await geth.rpc<Hex>('eth_blockNumber', []))
    await geth.rpc('debug_setHead', [numberToHex(head - 1 - random(4))])
    nonce = Number(await geth.rpc<Hex>('eth_getTransactionCount', [developer.address, 'pending']))
    reorganised += 1
    hashes = []
  }

  beforeAll(async () => {
    geth = await startBuiltGeth(path as string)
    sealing = (async () => {
      for (let made = 1; going; made += 1) {
        const due = sleep(INTERVAL_MS)
        if (reorganisesEvery > 0 && made % reorganisesEvery === 0) await exclusively(reorganise)
        // The pool may still have the reverted transactions.
        await fill().catch(() => undefined)
        await geth.build({ feeRecipient: '0x00000000000000000000000000000000000000fe', withdrawals: [] })
        await due
      }
    })()
    uniswap = await deployUniswap(geth.rpcUrl, GETH_DEVELOPER.privateKey)
    const wallet = createWalletClient({ account: developer, transport: http(geth.rpcUrl) })
    nonce = Number(await geth.rpc<Hex>('eth_getTransactionCount', [developer.address, 'pending']))
    fill = async () => {
      for (const { to, data, value } of calls().slice(0, 1 + (nonce % 4)))
        await wallet.sendTransaction({
          chain: null,
          nonce: nonce++,
          gas: 400_000n,
          to,
          data,
          value: BigInt(value ?? 0),
        })
    }
    node = await startFaultProxy(geth.rpcUrl)
    gateway = await startGateway({
      UPSTREAM_RPC_URL: node.url,
      UPSTREAM_WS_URL: geth.wsUrl,
      FOLLOW_HEAD: 'always',
      DIALECT: 'ethereum',
    })
    // Nothing is carried before any state is known, nor after a block that came too late.
    while (!(await held()) || (await carried()) < 24) {
      await gateway.call('eth_simulateV1', [{ blockStateCalls: [{}] }, 'latest'])
      await sleep(INTERVAL_MS)
    }
  }, 120_000)
  afterAll(async () => {
    going = false
    await gateway?.stop()
    await sealing
    await node?.stop()
    await geth?.stop()
  })

  const carried = async () => (await gateway.metric('upfront_carry_blocks_total{outcome="carried"}')) || 0
  const held = async () => {
    const { following } = (await (await fetch(`${gateway.url}/health/ready`)).json()) as {
      following: { trusted: boolean; recent: { block: string; hash: Hex }[] }
    }
    return following.trusted ? following.recent : undefined
  }

  /** The gateway does not learn of a reverted block before the next one is made: until then its answers may use it. */
  async function knowsTheChain(): Promise<void> {
    for (;;) {
      await last
      const head = (await held())?.at(-1)
      if (head !== undefined) {
        const block = numberToHex(BigInt(head.block))
        const sealed = await geth.rpc<{ hash: Hex } | null>('eth_getBlockByNumber', [block, false])
        if (sealed?.hash === head.hash) return
      }
      await sleep(20)
    }
  }

  const random = (() => {
    let seed = Number(process.env.READ_SEED ?? 7)
    return (below: number) => {
      seed = (Math.imul(seed, 1_103_515_245) + 12_345) & 0x7fffffff
      return Math.floor((seed / 0x80000000) * below)
    }
  })()
  const one = <T>(list: readonly T[]): T => list[random(list.length)]!

  function calls(): { to: Address; data: Hex; value?: Hex }[] {
    const { router, poolV3, pairV2, token0, token1 } = uniswap
    const swap = (functionName: 'swapV2' | 'swapV3', pool: Address, token: Address) =>
      encodeFunctionData({
        abi: swapRouterAbi,
        functionName,
        args: [pool, token, parseEther('0.001') + BigInt(random(1e6)), 0n, developer.address],
      })
    const transfer = (to: Address, amount: bigint) =>
      encodeFunctionData({ abi: testTokenAbi, functionName: 'transfer', args: [to, amount] })
    const mixed: { to: Address; data: Hex; value?: Hex }[] = [
      { to: router, data: swap('swapV3', poolV3, one([token0, token1])) },
      { to: token0, data: transfer(pairV2, BigInt(random(1e6))) },
      { to: numberToHex(0xabc000 + random(6), { size: 20 }), data: '0x', value: numberToHex(1 + random(1e9)) },
      { to: router, data: swap('swapV2', pairV2, one([token0, token1])) },
    ]
    return mixed.sort(() => random(3) - 1)
  }

  /** Any call: some revert, halt, lack funds or override state. */
  function anyCall(): unknown[] {
    const program = one([
      'NUMBER 0 MSTORE TIMESTAMP 32 MSTORE BASEFEE 64 MSTORE COINBASE 96 MSTORE GASLIMIT 128 MSTORE PREVRANDAO 160 MSTORE CHAINID 192 MSTORE 224 0 RETURN',
      'NUMBER 1 SWAP1 SUB BLOCKHASH 0 MSTORE NUMBER BLOCKHASH 32 MSTORE NUMBER 2 SWAP1 SUB BLOCKHASH 64 MSTORE GAS 96 MSTORE 128 0 RETURN',
      'CALLER BALANCE 0 MSTORE CALLVALUE 32 MSTORE ADDRESS BALANCE 64 MSTORE COINBASE BALANCE 96 MSTORE 128 0 RETURN',
      '0 0 REVERT',
      '7 0 MSTORE 32 0 REVERT',
      'INVALID',
      '@loop >loop JUMP',
      '0 SLOAD 1 ADD 0 SSTORE 0 SLOAD 0 MSTORE 32 0 RETURN',
    ])
    const own = {
      from: one([developer.address, undefined, numberToHex(0xabc000 + random(8), { size: 20 })]),
      ...one<object>([{}, {}, { gas: numberToHex(one([21_000, 30_000, 100_000, 500_000])) }]),
      ...one<object>([
        {},
        {},
        { gasPrice: '0x3b9aca00' },
        { maxFeePerGas: '0x2540be400', maxPriorityFeePerGas: '0x1' },
        { maxFeePerGas: '0x1' },
      ]),
    }
    const coded = { [code]: { code: assemble(program), balance: '0x64', nonce: one([undefined, '0x5']) } }
    const call = one<object>([
      ...calls(),
      { to: code, data: '0x', value: one([undefined, '0x0', '0x5', numberToHex(parseEther('100000000000'))]) },
      { to: code, data: '0x1234' },
      { data: '0x600a600c600039600a6000f3602a60005260206000f3' },
      { to: uniswap.poolV3, data: '0x3850c7bd' },
      { to: uniswap.poolV3, data: '0x12345678' },
      { to: uniswap.token0, data: '0x18160ddd' },
    ])
    const state = one<object | undefined>([
      undefined,
      coded,
      coded,
      { ...coded, [developer.address]: { balance: one(['0x0', '0x5208', numberToHex(parseEther('3'))]) } },
      { [uniswap.token0]: { stateDiff: { [balanceSlot(developer.address)]: numberToHex(5, { size: 32 }) } } },
    ])
    const block = one<object | undefined>([
      undefined,
      undefined,
      { time: numberToHex(2_000_000_000 + random(1_000)), feeRecipient: code },
      { baseFeePerGas: '0x5', prevRandao: numberToHex(5, { size: 32 }), gasLimit: '0x989680' },
    ])
    return [{ ...own, ...call }, undefined, state ?? null, block ?? null]
  }

  const balanceSlot = (account: Address) =>
    keccak256(encodeAbiParameters([{ type: 'address' }, { type: 'uint256' }], [account, TEST_TOKEN_SLOTS.balanceOf]))

  const someone = () =>
    one([
      developer.address,
      uniswap.router,
      uniswap.poolV3,
      uniswap.pairV2,
      uniswap.token0,
      '0x00000000000000000000000000000000000000fe',
      numberToHex(0xabc000 + random(8), { size: 20 }),
    ])

  function question(block: unknown, byHash: unknown, transaction: Hex): Question {
    const called = anyCall().with(1, block)
    const filter = one<object>([
      {},
      { address: uniswap.token0 },
      { address: [uniswap.poolV3, uniswap.pairV2] },
      { topics: [[keccak256('0x'), null]] },
      { topics: [null, `0x${developer.address.slice(2).toLowerCase().padStart(64, '0')}`] },
      { address: code },
    ])
    const whole = one([true, false])
    const index = numberToHex(random(6))
    return one<Question>([
      { method: 'eth_call', params: called },
      { method: 'eth_call', params: called },
      { method: 'eth_call', params: called },
      { method: 'eth_estimateGas', params: called },
      { method: 'eth_estimateGas', params: called },
      { method: 'eth_createAccessList', params: called.slice(0, 3) },
      { method: 'eth_getBalance', params: [someone(), block] },
      { method: 'eth_getCode', params: [someone(), block] },
      { method: 'eth_getTransactionCount', params: [someone(), block] },
      {
        method: 'eth_getStorageAt',
        params: [someone(), one(['0x0', '0x1', balanceSlot(someone() as Address)]), block],
      },
      { method: 'eth_getBlockReceipts', params: [block] },
      { method: 'eth_getBlockByNumber', params: [block, whole] },
      { method: 'eth_getBlockByHash', params: [byHash, whole] },
      { method: 'eth_getBlockTransactionCountByNumber', params: [block] },
      { method: 'eth_getBlockTransactionCountByHash', params: [byHash] },
      { method: 'eth_getTransactionByBlockNumberAndIndex', params: [block, index] },
      { method: 'eth_getTransactionByBlockHashAndIndex', params: [byHash, index] },
      { method: 'eth_getTransactionByHash', params: [transaction] },
      { method: 'eth_getTransactionReceipt', params: [transaction] },
      { method: 'eth_getLogs', params: [{ ...filter, fromBlock: block, toBlock: block }] },
      { method: 'eth_getLogs', params: [{ ...filter, blockHash: byHash }] },
      { method: 'eth_feeHistory', params: [numberToHex(1 + random(8)), block, one([[], [50], [0, 12.5, 90, 100]])] },
    ]) as Question
  }

  const ofGeth = async ({ method, params }: Question) => {
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })
    const response = await fetch(geth.rpcUrl, { method: 'POST', headers: { 'content-type': 'application/json' }, body })
    const { result, error } = (await response.json()) as { result?: unknown; error?: object }
    return error === undefined ? { result } : { error: withoutHash(error) }
  }
  const ofOurs = async ({ method, params }: Question) => {
    const { result, error } = await gateway.call(method, params)
    return error === undefined ? { result } : { error }
  }

  /** Asks one question at a block that both have. @returns undefined if there is none now, or the node can't answer it */
  async function ask(): Promise<{ drawn: Question; ours: object; theirs: object } | undefined> {
    const recent = await held()
    if (recent === undefined) return undefined
    const { hash, block } = recent.at(-1 - random(Math.min(8, recent.length)))!
    const number = numberToHex(BigInt(block))
    const sealed = await geth.rpc<{ hash: Hex; transactions: Hex[] } | null>('eth_getBlockByNumber', [number, false])
    if (sealed?.hash !== hash) return undefined
    hashes = [...sealed.transactions, ...hashes].slice(0, 20)
    const drawn = question(number, hash, hashes.length > 0 ? one(hashes) : hash)
    const [theirs, ours] = await Promise.all([ofGeth(drawn), ofOurs(drawn)])
    return isNoAnswer(theirs) ? undefined : { drawn, ours, theirs }
  }

  it(
    `in ${QUESTIONS} random questions while the chain reorganises`,
    async () => {
      const differences: unknown[] = []
      node.reset()
      reorganisesEvery = 6
      for (let asked = 0; asked < QUESTIONS; ) {
        const answered = await exclusively(ask)
        if (answered === undefined) continue
        asked += 1
        const { ours, theirs } = answered
        if (JSON.stringify(sorted(ours)) !== JSON.stringify(sorted(theirs))) differences.push(answered)
      }
      reorganisesEvery = 0
      await knowsTheChain()
      expect(differences.slice(0, 5)).toEqual([])
      if (QUESTIONS >= 2_000) expect(reorganised).toBeGreaterThan(2)
    },
    60_000 + 50 * QUESTIONS,
  )

  it('if a parameter is missing or invalid: the same answer or the same error code', async () => {
    await knowsTheChain()
    let recent = await held()
    while (recent === undefined) recent = await held()
    const { hash, block: number } = recent.at(-2)!
    const block = numberToHex(BigInt(number))
    // These do not change from block to block.
    const account = uniswap.token0
    const call = { from: developer.address, to: account, data: '0x18160ddd' }
    const questions: [string, ...unknown[]][] = [
      ...['eth_getBalance', 'eth_getCode', 'eth_getTransactionCount'].flatMap((method): [string, ...unknown[]][] => [
        [method, account],
        [method, account, null],
        [method],
        [method, account, {}],
      ]),
      ['eth_getStorageAt', account, '0x0'],
      ['eth_getStorageAt', account],
      ...[{ blockHash: hash }, hash, { blockNumber: block }, 5, null].flatMap((at): [string, ...unknown[]][] => [
        ['eth_getBlockByNumber', at, false],
        ['eth_getBlockTransactionCountByNumber', at],
        ['eth_getTransactionByBlockNumberAndIndex', at, '0x0'],
        ['eth_feeHistory', '0x1', at, []],
        ...(at === null ? [] : [['eth_getLogs', { fromBlock: at, toBlock: at }] as [string, unknown]]),
      ]),
      ...[block, 'latest', { blockHash: hash }, null].flatMap((at): [string, ...unknown[]][] => [
        ['eth_getBlockByHash', at, false],
        ['eth_getBlockTransactionCountByHash', at],
        ['eth_getTransactionByBlockHashAndIndex', at, '0x0'],
      ]),
      ...[undefined, null, 'true', 1].flatMap((whole): [string, ...unknown[]][] => [
        ['eth_getBlockByNumber', block, whole],
        ['eth_getBlockByHash', hash, whole],
      ]),
      ...['eth_getFilterChanges', 'eth_getFilterLogs', 'eth_uninstallFilter'].flatMap(
        (method): [string, ...unknown[]][] => [[method], [method, 5], [method, '0x12']],
      ),
      ['eth_newFilter'],
      ['eth_createAccessList', { ...call, gasPrice: '0x0' }, block],
      ['eth_createAccessList', { ...call, maxFeePerGas: '0x0', maxPriorityFeePerGas: '0x0' }, block],
      ['eth_createAccessList', { ...call, maxFeePerGas: '0x1', maxPriorityFeePerGas: '0x2' }, block],
      ['eth_createAccessList', { ...call, maxPriorityFeePerGas: '0x2' }, block],
      ['eth_createAccessList', call, block, {}, {}],
      ['eth_feeHistory', '0x1', block],
      ['eth_feeHistory', '0x1', block, null],
      ['eth_getBalance', account, block.replace('0x', '0X')],
      ...['2', '02', '', `0x${'0'.repeat(65)}`].map((slot): [string, ...unknown[]] => [
        'eth_getStorageAt',
        account,
        slot,
        block,
      ]),
      ['eth_getLogs', { fromBlock: block, toBlock: block }, {}],
      ['eth_getStorageAt', account, '0x0', block, null],
      ...['eth_getBalance', 'eth_getBlockByNumber', 'eth_getBlockReceipts', 'eth_getTransactionByHash'].map(
        (method): [string, ...unknown[]] => [method, block, block, block],
      ),
      ...['eth_gasPrice', 'eth_blockNumber', 'eth_chainId', 'eth_newBlockFilter'].map(
        (method): [string, ...unknown[]] => [method, null],
      ),
    ]
    const both = await Promise.all(
      questions.map(async ([method, ...params]) => {
        const [ours, theirs] = await Promise.all([ofOurs({ method, params }), ofGeth({ method, params })])
        const outcome = ({ result, error }: { result?: unknown; error?: { code?: number } }) =>
          error === undefined ? sorted(result) : error.code
        return [
          { method, params, answer: outcome(ours) },
          { method, params, answer: outcome(theirs) },
        ] as const
      }),
    )
    expect(both.map(([ours]) => ours)).toEqual(both.map(([, theirs]) => theirs))
  })

  it('in the words of errors that are not about the shape of a parameter', async () => {
    await knowsTheChain()
    let recent = await held()
    while (recent === undefined) recent = await held()
    const block = numberToHex(BigInt(recent.at(-2)!.block))
    const account = uniswap.token0
    const call = { from: developer.address, to: account, data: '0x18160ddd' }
    const numbers = recent.map((each) => numberToHex(BigInt(each.block)))
    const counts = numbers.map((number) => geth.rpc<Hex>('eth_getBlockTransactionCountByNumber', [number]))
    const filled = numbers[(await Promise.all(counts)).findLastIndex((count) => count !== '0x0')]
    const unknown = `0x${'ab'.repeat(32)}`
    const unknowns = [unknown, { blockHash: unknown, requireCanonical: true }, '0xffffff', 'safe', 'finalized']
    const twice = { [account]: { state: {}, stateDiff: {} } }
    const beaconRoot = { beaconRoot: unknown }
    const tracer = 'callTracer'
    const both = { tracer: 'prestateTracer', tracerConfig: { diffMode: true, includeEmpty: true } }
    const questions: [string, ...unknown[]][] = [
      ...unknowns.flatMap((at): [string, ...unknown[]][] => [
        ['eth_createAccessList', call, at],
        ['eth_call', call, at],
        ['debug_traceCall', call, at, { tracer }],
        ...(typeof at === 'string' && at !== unknown ? [['debug_traceBlockByNumber', at] as [string, unknown]] : []),
      ]),
      ['debug_traceBlockByHash', unknown],
      ['eth_call', call, block, twice],
      ['eth_estimateGas', call, block, twice],
      ['debug_traceCall', call, block, { tracer, stateOverrides: twice }],
      ['eth_call', call, block, null, beaconRoot],
      ['eth_estimateGas', call, block, null, { withdrawals: [] }],
      ['debug_traceCall', call, block, { tracer, blockOverrides: beaconRoot }],
      ['debug_traceCall', call, block, both],
      ...['', '-', '5', '5x', '1s5', '.s', '1h2', '9999999h', ' 1s', '1.5.5s'].flatMap(
        (timeout): [string, ...unknown[]][] => [
          ['debug_traceCall', call, block, { tracer, timeout }],
          ['debug_traceCall', call, block, { timeout }],
          ['debug_traceBlockByNumber', filled, { tracer, timeout }],
        ],
      ),
      ...['5s', '+1m30.5s', '2562047h', '1h1m1s500ms', '300000us', '5µs'].map((timeout): [string, ...unknown[]] => [
        'debug_traceCall',
        { ...call, to: developer.address, data: '0x' },
        block,
        { tracer: 'noopTracer', timeout },
      ]),
      ...[undefined, 'callTracer', 'prestateTracer', 'noopTracer'].flatMap((tracer) =>
        ['1ms', '0s', '-1s'].map((timeout): [string, ...unknown[]] => [
          'debug_traceCall',
          { to: code },
          block,
          { tracer, timeout, stateOverrides: { [code]: { code: LOOP } } },
        ]),
      ),
      ['eth_createAccessList', { ...call, maxFeePerBlobGas: '0x0' }, block],
      ['eth_getLogs', { fromBlock: block, toBlock: block, address: Array(1_001).fill(account) }],
    ]
    for (const [method, ...params] of questions) {
      const [ours, theirs] = await Promise.all([ofOurs({ method, params }), ofGeth({ method, params })])
      expect({ method, params, ...ours }).toEqual({ method, params, ...theirs })
    }
  })

  it('in access lists with a part of the fees, where geth fills in the rest', async () => {
    await knowsTheChain()
    let recent = await held()
    while (recent === undefined) recent = await held()
    const block = numberToHex(BigInt(recent.at(-2)!.block))
    const call = { from: developer.address, to: uniswap.token0, data: '0x18160ddd' }
    const poor = { ...call, from: `0x${'5e'.repeat(20)}` }
    const prices = [
      { maxFeePerGas: '0x0' },
      { maxFeePerGas: '0x1' },
      { maxFeePerGas: '0x174876e800' },
      { maxPriorityFeePerGas: '0x1' },
      { maxFeePerBlobGas: '0x1' },
      { maxFeePerBlobGas: '0x1', maxFeePerGas: '0x1' },
      { maxFeePerBlobGas: '0x1', gasPrice: '0x174876e800' },
      { maxFeePerBlobGas: '0x1', maxFeePerGas: '0x174876e800', maxPriorityFeePerGas: '0x1' },
      { maxFeePerGas: '0x1', maxPriorityFeePerGas: '0x0' },
      { gasPrice: '0x1' },
      { blobVersionedHashes: [`0x01${'0'.repeat(62)}`], gasPrice: '0x174876e800' },
      { blobVersionedHashes: [`0x01${'0'.repeat(62)}`] },
      { blobVersionedHashes: [`0x01${'0'.repeat(62)}`], maxFeePerGas: '0x174876e800', maxPriorityFeePerGas: '0x1' },
    ]
    for (const price of prices)
      for (const asked of [call, poor]) {
        const drawn = { method: 'eth_createAccessList', params: [{ ...asked, ...price }, block] }
        const [ours, theirs] = await Promise.all([ofOurs(drawn), ofGeth(drawn)])
        expect([drawn, sorted(ours)]).toEqual([drawn, sorted(theirs)])
      }
  })

  it("in access lists at the node's pending block, with its base fee", async () => {
    const call = { from: developer.address, to: uniswap.token0, data: '0x18160ddd' }
    const prices = [
      {},
      { gasPrice: '0x1' },
      { gasPrice: '0x174876e800' },
      { maxFeePerGas: '0x1', maxPriorityFeePerGas: '0x1' },
      { maxFeePerGas: '0x174876e800', maxPriorityFeePerGas: '0x1' },
    ]
    for (let asked = 0; asked < prices.length; ) {
      const drawn = { method: 'eth_createAccessList', params: [{ ...call, ...prices[asked] }, 'pending'] }
      const before = await geth.rpc('eth_blockNumber', [])
      const [ours, theirs] = await Promise.all([ofOurs(drawn), ofGeth(drawn)])
      if ((await geth.rpc('eth_blockNumber', [])) !== before) continue
      asked += 1
      expect([drawn, sorted(ours)]).toEqual([drawn, sorted(theirs)])
    }
  })

  const overHttp = async (body: string) => (await gateway.post(body)).text()
  const batch = async (calls: Question[], send = overHttp) => {
    const body = calls.map((call, id) => ({ jsonrpc: '2.0', id, ...call }))
    const answers = JSON.parse(await send(JSON.stringify(body))) as { result?: unknown; error?: unknown }[]
    return answers.map(({ result, error }) => result ?? error)
  }

  it.each(['HTTP', 'WebSocket'])(
    'in a batch over %s, which is answered on one head while blocks are mined',
    async (by) => {
      const { socket } = await connect(gateway.url)
      const overSocket = async (body: string) => {
        socket.send(body)
        return String((await once(socket, 'message'))[0])
      }
      const coded = { [code]: { code: assemble('NUMBER 0 MSTORE 32 0 RETURN') } }
      const heads = new Set<unknown>()
      for (let n = 0; n < 60; n += 1) {
        const asked: Question[] = [
          { method: 'eth_blockNumber', params: [] },
          { method: 'eth_getBlockByNumber', params: ['latest', false] },
          { method: 'eth_call', params: [{ to: code }, 'latest', coded] },
          { method: 'eth_getLogs', params: [{}] },
          { method: 'eth_getTransactionCount', params: [developer.address, 'latest'] },
          { method: 'eth_getProof', params: [developer.address, [], 'latest'] },
          { method: 'debug_traceBlockByNumber', params: ['latest', { tracer: 'noopTracer' }] },
        ]
        const answers = await batch(asked, by === 'HTTP' ? overHttp : overSocket)
        const [number, block, called, logs, count, proof, traces] = answers as [
          Hex,
          { number: Hex; transactions: Hex[] },
          Hex,
          { blockNumber: Hex }[],
          Hex,
          { nonce: Hex },
          { txHash: Hex }[],
        ]
        heads.add(number)
        expect(traces.map(({ txHash }) => txHash)).toEqual(block.transactions)
        expect([block.number, numberToHex(BigInt(called)), proof.nonce]).toEqual([number, number, count])
        expect(logs.every(({ blockNumber }) => blockNumber === number)).toBe(true)
        await sleep(20)
      }
      socket.terminate()
      expect(heads.size).toBeGreaterThan(3)
    },
  )

  it('in a batch, with one round trip for all missing values and none for held ones', async () => {
    const balances = (block: string, from: number) =>
      Array.from({ length: 10 }, (_, n) => ({
        method: 'eth_getBalance',
        params: [numberToHex(from + n, { size: 20 }), block],
      }))
    const trips = async (calls: Question[]) => {
      node.reset()
      expect(await batch(calls)).toEqual(Array(10).fill('0x0'))
      return node.stats.methods.filter((methods) => methods.includes('eth_getBalance')).map(({ length }) => length)
    }
    expect(await trips(balances('0x1', 0xc0ffee000))).toEqual([10])
    while ((await held()) === undefined) await sleep(5)
    expect(await trips(balances('latest', 0xc0ffee000))).toEqual([10])
    while ((await held()) === undefined) await sleep(5)
    const again = await trips(balances('latest', 0xc0ffee000))
    // An account that no block has touched stays known from block to block.
    expect(again).toEqual([])
  })

  it('in gas prices on the same head', async () => {
    const methods = ['eth_gasPrice', 'eth_maxPriorityFeePerGas', 'eth_blobBaseFee']
    for (let rounds = 0; rounds < 5; ) {
      const before = await geth.rpc('eth_blockNumber', [])
      const [head, ...ours] = await batch(['eth_blockNumber', ...methods].map((method) => ({ method, params: [] })))
      const theirs = await Promise.all(methods.map((method) => geth.rpc(method, [])))
      if (head !== before || (await geth.rpc('eth_blockNumber', [])) !== before) continue
      rounds += 1
      expect(ours).toEqual(theirs)
    }
  })

  it('with few requests to the node: less than one in 20 questions', () => {
    const asked = ['eth_call', 'eth_estimateGas', 'eth_getTransactionByHash', 'eth_getBlockTransactionCountByNumber']
    const count = asked.reduce((sum, method) => sum + (node.stats.byMethod[method] ?? 0), 0)
    expect(count).toBeLessThan(QUESTIONS / 20)
  })
})

/** geth's log index may lack reverted blocks for ever, and geth on a busy machine runs into its own time-out. */
function isNoAnswer({ error }: { error?: unknown }): boolean {
  return /log index|timed out|execution aborted/.test((error as { message?: string } | undefined)?.message ?? '')
}

/** geth names the hash of the transaction that it makes of the call with its own fees. */
function withoutHash(error: object): object {
  const { message } = error as { message: string }
  return {
    ...error,
    message: message.replace(/^failed to apply transaction: 0x[0-9a-f]{64} /, 'failed to apply transaction: '),
  }
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
