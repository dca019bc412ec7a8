import { ErrorCode, RpcError } from '@upfront/protocol'
import { type Engine, SimulationRejected, type StateRead, type StateSource } from '@upfront/simulation'
import { createEthereumJsEngine } from '../src/index.js'
import { COUNTER, callPlan, codePlan, NOBODY, planOf, RICH, state } from './dev-chain.js'

const never = new AbortController().signal
const TRANSFER = '0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef'
const topic = (address: string) => `0x${address.slice(2).padStart(64, '0')}`

describe('the ethereumjs engine', () => {
  let engine: Engine

  beforeAll(() => {
    engine = createEthereumJsEngine()
  })

  afterAll(() => engine.close())

  it('says what is inside', () => {
    expect(engine).toMatchObject({ name: 'ethereumjs', version: expect.stringMatching(/^\d+\.\d+\.\d+$/) })
  })

  it('executes and seals a transfer', async () => {
    const plan = callPlan({ from: RICH, to: NOBODY, value: '0x5' }, {}, { traceTransfers: true })
    const { blocks, touched } = await engine.simulate(plan, state, never)
    const [block] = blocks
    expect(block).toMatchObject({
      header: { number: 1n, gasUsed: 21_000n, stateRoot: expect.stringMatching(/^0x0{64}$/) },
      calls: [{ succeeded: true, gasUsed: 21_000n, maxUsedGas: 21_000n, returnData: '0x' }],
      transactions: [{ nonce: 0n, gas: 50_000_000n, call: plan.blocks[0]!.calls[0] }],
    })
    expect(block!.calls[0]!.logs).toEqual([
      {
        address: `0x${'ee'.repeat(20)}`,
        topics: [TRANSFER, topic(RICH), topic(NOBODY)],
        data: `0x${'5'.padStart(64, '0')}`,
        index: 0,
      },
    ])
    expect(touched).toEqual({ accounts: 2, slots: 0 })
  })

  it('keeps transfer logs out of receipts', async () => {
    const call = { from: RICH, to: NOBODY, value: '0x5' }
    const headers = await Promise.all(
      [true, false].map(async (traceTransfers) => {
        const { blocks } = await engine.simulate(callPlan(call, {}, { traceTransfers }), state, never)
        return blocks[0]!.header
      }),
    )
    expect(headers[0]).toEqual(headers[1])
  })

  it('carries state from call to call and from block to block', async () => {
    const calls = [
      { from: RICH, to: COUNTER },
      { from: RICH, to: COUNTER },
    ]
    const { blocks, touched } = await engine.simulate(planOf({ blockStateCalls: [{ calls }, { calls }] }), state, never)
    const counts = blocks.flatMap((block) => block.calls.map(({ returnData }) => BigInt(returnData)))
    expect(counts).toEqual([6n, 7n, 8n, 9n])
    expect(blocks[1]!.header.parentHash).toBe(blocks[0]!.header.hash)
    expect(touched).toEqual({ accounts: 2, slots: 1 })
  })

  it('counts reverted accesses for metering, precompiles never', async () => {
    // SLOAD(7), BALANCE(RICH's neighbour), a call of sha256, REVERT
    const code = '0x600754506201234531505f5f5f5f600261fffffa505f5ffd'
    const { blocks, touched } = await engine.simulate(codePlan(code), state, never)
    expect(blocks[0]!.calls[0]!.failure).toEqual({ kind: 'revert' })
    expect(touched).toEqual({ accounts: 3, slots: 1 })
  })

  it('says why a call halted', async () => {
    const { blocks } = await engine.simulate(codePlan('0x01'), state, never)
    expect(blocks[0]!.calls[0]).toMatchObject({
      succeeded: false,
      gasUsed: 50_000_000n,
      failure: { kind: 'halt', message: 'stack underflow (0 <=> 2)' },
    })
  })

  it('caps a call at the gas that the request has left, and says so', async () => {
    const plan = { ...codePlan('0x5b5f56'), gasBudget: 30_000n }
    const { blocks } = await engine.simulate(plan, state, never)
    expect(blocks[0]!.calls[0]).toMatchObject({
      gasUsed: 30_000n,
      failure: { message: "out of gas (gas limit was capped by the RPC server's global gas cap)" },
    })
  })

  it('rejects a call that is no transaction, with its place', async () => {
    const calls = [
      { from: RICH, to: NOBODY },
      { from: NOBODY, to: RICH, value: '0x1' },
    ]
    const failed = engine.simulate(planOf({ blockStateCalls: [{}, { calls }] }), state, never)
    await expect(failed).rejects.toBeInstanceOf(SimulationRejected)
    await expect(failed).rejects.toMatchObject({ code: ErrorCode.insufficientFunds, block: 1, call: 1 })
  })

  it('fails with what the state source rejected with', async () => {
    const reason = new RpcError(ErrorCode.internalError, 'upstream is down')
    const broken: StateSource = { ...state, read: () => Promise.reject(reason) }
    await expect(engine.simulate(codePlan('0x00'), broken, never)).rejects.toBe(reason)
    await expect(engine.simulate(codePlan('0x00'), state, never)).resolves.toBeDefined()
  })

  it('reads ahead in one batch what it is sure to need', async () => {
    const batches: StateRead[][] = []
    const counting: StateSource = {
      ...state,
      read: (reads, signal) => {
        batches.push([...reads])
        return state.read(reads, signal)
      },
    }
    await engine.simulate(callPlan({ from: RICH, to: NOBODY, value: '0x5' }), counting, never)
    expect(batches).toHaveLength(1)
  })

  it('reads nothing of a thousand accounts that are overridden and not touched', async () => {
    const overrides = Object.fromEntries(
      Array.from({ length: 1_000 }, (_, index) => [
        `0x${(0xdead0000 + index).toString(16).padStart(40, '0')}`,
        { nonce: '0x5' },
      ]),
    )
    const asked: StateRead[] = []
    const counting: StateSource = {
      ...state,
      read: (reads, signal) => {
        asked.push(...reads)
        return state.read(reads, signal)
      },
    }
    await engine.simulate(callPlan({ from: RICH, to: NOBODY }, overrides), counting, never)
    expect(asked.filter((read) => read.kind !== 'blockHash' && read.address.includes('dead'))).toEqual([])
  })

  it('knows the hashes of real and simulated ancestors', async () => {
    // BLOCKHASH(NUMBER - calldata), returned
    const code = '0x5f3543034 05f5260205ff3'.replace(' ', '')
    const ask = (back: number) => ({ from: RICH, to: NOBODY, input: `0x${back.toString(16).padStart(64, '0')}` })
    const plan = planOf({
      blockStateCalls: [
        { stateOverrides: { [NOBODY]: { code } }, calls: [ask(1)] },
        { calls: [ask(1), ask(2), ask(0)] },
      ],
    })
    const { blocks } = await engine.simulate(plan, state, never)
    expect(blocks[0]!.calls[0]!.returnData).toBe(state.key)
    expect(blocks[1]!.calls.map(({ returnData }) => returnData)).toEqual([
      blocks[0]!.header.hash,
      state.key,
      `0x${'0'.repeat(64)}`,
    ])
  })

  it('credits withdrawals', async () => {
    const code = '0x5f353 15f5260205ff3'.replace(' ', '')
    const withdrawals = [{ index: '0x0', validatorIndex: '0x0', address: COUNTER, amount: '0x2' }]
    const ask = { from: RICH, to: NOBODY, input: topic(COUNTER) }
    const plan = planOf({
      blockStateCalls: [
        { stateOverrides: { [NOBODY]: { code } }, blockOverrides: { withdrawals }, calls: [ask] },
        { calls: [ask] },
      ],
    })
    const { blocks } = await engine.simulate(plan, state, never)
    const [before, after] = blocks.map((block) => BigInt(block.calls[0]!.returnData))
    expect(after! - before!).toBe(2_000_000_000n)
  })

  it('serves chains without the contracts of EIP-7002 and EIP-7251, where geth refuses', async () => {
    const stateOverrides = Object.fromEntries(
      ['0x00000961ef480eb55e80d19ad83579a64c007002', '0x0000bbddc7ce488642fb579f8b00f3a590007251'].map((queue) => [
        queue,
        { code: '0x' },
      ]),
    )
    const { blocks } = await engine.simulate(planOf({ blockStateCalls: [{ stateOverrides }] }), state, never)
    const hashOfNoRequests = '0xe3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855'
    expect(blocks[0]!.header.requestsHash).toBe(hashOfNoRequests)
  })

  it('refuses OP-stack chains', async () => {
    const plan = codePlan('0x00')
    const optimism = { ...plan, rules: { ...plan.rules, stack: 'optimism' as const } }
    await expect(engine.simulate(optimism, state, never)).rejects.toThrow('needs the revm engine')
  })
})
