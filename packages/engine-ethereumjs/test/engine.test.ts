import {
  COUNTER,
  callPlan,
  codePlan,
  developmentBase,
  developmentGround,
  NOBODY,
  planOf,
  RICH,
  simulated,
} from '@upfront/engine-conformance'
import { type Engine, SimulationRejected, type StatePoint } from '@upfront/simulation'
import { createEthereumJsEngine } from '../src/index.js'

const TRANSFER = '0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef'
let states = 0
/** Nothing of it is known. */
const newState = (): StatePoint => ({ key: `0x${(++states).toString(16).padStart(64, '0')}`, layers: [] })
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
    const flags = { traceTransfers: true, returnFullTransactions: true }
    const plan = callPlan({ from: RICH, to: NOBODY, value: '0x5' }, {}, flags)
    const { blocks, touched } = await simulated(engine, plan)
    const [block] = blocks
    expect(block).toMatchObject({
      number: '0x1',
      gasUsed: '0x5208',
      stateRoot: expect.stringMatching(/^0x0{64}$/),
      calls: [{ status: '0x1', gasUsed: '0x5208', maxUsedGas: '0x5208', returnData: '0x' }],
      transactions: [{ nonce: '0x0', gas: '0x2faf080', from: RICH, to: NOBODY, value: '0x5' }],
    })
    expect(block!.calls[0]!.logs).toMatchObject([
      {
        address: `0x${'ee'.repeat(20)}`,
        topics: [TRANSFER, topic(RICH), topic(NOBODY)],
        data: `0x${'5'.padStart(64, '0')}`,
        logIndex: '0x0',
      },
    ])
    expect(touched).toEqual({ accounts: 2, slots: 0 })
  })

  it('keeps transfer logs out of receipts', async () => {
    const call = { from: RICH, to: NOBODY, value: '0x5' }
    const headers = await Promise.all(
      [true, false].map(async (traceTransfers) => {
        const { blocks } = await simulated(engine, callPlan(call, {}, { traceTransfers }))
        const { calls: _, ...header } = blocks[0]!
        return header
      }),
    )
    expect(headers[0]).toEqual(headers[1])
  })

  it('carries state from call to call and from block to block', async () => {
    const calls = [
      { from: RICH, to: COUNTER },
      { from: RICH, to: COUNTER },
    ]
    const { blocks, touched } = await simulated(engine, planOf({ blockStateCalls: [{ calls }, { calls }] }))
    const counts = blocks.flatMap((block) => block.calls.map(({ returnData }) => BigInt(returnData)))
    expect(counts).toEqual([6n, 7n, 8n, 9n])
    expect(blocks[1]!.parentHash).toBe(blocks[0]!.hash)
    expect(touched).toEqual({ accounts: 2, slots: 1 })
  })

  it('counts logs of calls that reverted in the indices of those after', async () => {
    // LOG0, then REVERT where there is input.
    const code = '0x5f5fa036600857005b5f5ffd'
    const calls = ['0x', '0x01', '0x'].map((input) => ({ from: RICH, to: NOBODY, input }))
    const stateOverrides = { [NOBODY]: { code } }
    const { blocks } = await simulated(engine, planOf({ blockStateCalls: [{ stateOverrides, calls }, { calls }] }))
    const indices = blocks.map((block) => block.calls.map(({ logs }) => logs.map(({ logIndex }) => logIndex)))
    expect(indices).toEqual(Array(2).fill([['0x0'], [], ['0x2']]))
  })

  it('counts reverted accesses for metering, precompiles never', async () => {
    // SLOAD(7), BALANCE(RICH's neighbour), a call of sha256, REVERT
    const code = '0x600754506201234531505f5f5f5f600261fffffa505f5ffd'
    const { failures, touched } = await simulated(engine, codePlan(code))
    expect(failures).toEqual([{ failure: { kind: 'revert' }, returnData: '0x' }])
    expect(touched).toEqual({ accounts: 3, slots: 1 })
  })

  it('says why a call halted', async () => {
    const { gasUsed, failures } = await simulated(engine, codePlan('0x01'))
    expect(gasUsed).toBe(50_000_000n)
    expect(failures).toEqual([
      {
        failure: { kind: 'halt', halt: expect.objectContaining({ kind: 'instruction' }), isGasCapped: false },
        returnData: '0x',
      },
    ])
  })

  it('caps a call at the gas that the request has left, and says so', async () => {
    const plan = { ...codePlan('0x5b5f56'), gasBudget: 30_000n }
    const { gasUsed, failures } = await simulated(engine, plan)
    expect(gasUsed).toBe(30_000n)
    expect(failures).toMatchObject([{ failure: { kind: 'halt', isGasCapped: true } }])
  })

  it('rejects a call that is no transaction, with its place', async () => {
    const calls = [
      { from: RICH, to: NOBODY },
      { from: NOBODY, to: RICH, value: '0x1' },
    ]
    const failed = simulated(engine, planOf({ blockStateCalls: [{}, { calls }] }))
    await expect(failed).rejects.toBeInstanceOf(SimulationRejected)
    const fault = { kind: 'insufficientFunds', have: 0n, want: 1n }
    const rejection = { kind: 'transaction', from: NOBODY, fault }
    await expect(failed).rejects.toMatchObject({ rejection, block: 1, call: 1 })
  })

  it('lacks all that it is sure to need at once', async () => {
    const source = developmentGround().state
    await simulated(engine, callPlan({ from: RICH, to: NOBODY, value: '0x5' }), { at: newState(), source })
    expect(source.batches).toHaveLength(1)
  })

  it('reads nothing of a thousand accounts that are overridden and not touched', async () => {
    const overrides = Object.fromEntries(
      Array.from({ length: 1_000 }, (_, index) => [
        `0x${(0xdead0000 + index).toString(16).padStart(40, '0')}`,
        { nonce: '0x5' },
      ]),
    )
    const source = developmentGround().state
    await simulated(engine, callPlan({ from: RICH, to: NOBODY }, overrides), { at: newState(), source })
    expect(source.reads.length).toBeGreaterThan(0)
    expect(source.reads.filter((read) => read.kind !== 'blockHash' && read.address.includes('dead'))).toEqual([])
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
    const { blocks } = await simulated(engine, plan)
    expect(blocks[0]!.calls[0]!.returnData).toBe(developmentBase.hash)
    expect(blocks[1]!.calls.map(({ returnData }) => returnData)).toEqual([
      blocks[0]!.hash,
      developmentBase.hash,
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
    const { blocks } = await simulated(engine, plan)
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
    const { blocks } = await simulated(engine, planOf({ blockStateCalls: [{ stateOverrides }] }))
    const hashOfNoRequests = '0xe3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855'
    expect(blocks[0]!.requestsHash).toBe(hashOfNoRequests)
  })

  it('refuses OP-stack chains', async () => {
    const plan = codePlan('0x00')
    const optimism = { ...plan, rules: { ...plan.rules, stack: 'optimism' as const } }
    await expect(simulated(engine, optimism)).rejects.toThrow('needs the revm engine')
  })
})
