import {
  DEFAULT_SIMULATION_LIMITS,
  decodeSimulationRequest,
  type Hash,
  type Hex,
  RpcError,
  type SimulatedBlock,
  ZERO_ADDRESS,
  ZERO_HASH,
} from '@upfront/protocol'
import { aHeader, ethereumRules } from '../../test/fixtures.js'
import { answerOf, type ScriptedBlock, type ScriptedCall } from '../../test/scripted-answer.js'
import { SimulationRejected } from '../engine/simulation-rejected.js'
import type { SimulationPlan } from '../plan/simulation-plan.js'
import type { Driver } from './driver.js'
import { pinnedState } from './pinned-state.js'
import { ReadBudget } from './read-budget.js'
import { simulate } from './simulate.js'

type SimulatingDriver = Pick<Driver, 'simulate'>

const A: Hex = `0x${'aa'.repeat(20)}`
const hashOf = (n: number): Hash => `0x${n.toString(16).padStart(64, '0')}`

/** Returns the given blocks as sealed, to test the steps around an engine. */
function driverOf(run: (plan: SimulationPlan) => ScriptedBlock[]): SimulatingDriver {
  return { simulate: (plan) => answerOf(run(plan), { accounts: 2, slots: 1 }) }
}

function sealed(plan: SimulationPlan, outcomes: ScriptedCall[] = []): ScriptedBlock[] {
  return plan.blocks.map((block, i) => ({
    header: aHeader({
      number: block.number,
      timestamp: block.timestamp,
      hash: hashOf(i + 1),
      gasUsed: 21_000n,
      baseFeePerGas: 10n,
    }),
    size: 600n,
    transactions: block.calls.map((call, j) => ({
      hash: hashOf(100 * (i + 1) + j),
      nonce: BigInt(j),
      gas: 50_000n,
      call,
    })),
    calls: block.calls.map(
      (_, j) => outcomes[j] ?? { succeeded: true, gasUsed: 21_000n, maxUsedGas: 21_000n, returnData: '0x01', logs: [] },
    ),
  }))
}

async function run(payload: object, driver: SimulatingDriver, dialect: 'upfront' | 'ethereum' = 'upfront') {
  const base = aHeader()
  const answer = await simulate({
    request: decodeSimulationRequest([payload, 'latest'], DEFAULT_SIMULATION_LIMITS),
    base,
    state: pinnedState({ header: base, key: base.hash }),
    rules: ethereumRules(),
    driver,
    limits: DEFAULT_SIMULATION_LIMITS,
    budget: new ReadBudget(0, 0),
    cancellation: new AbortController(),
    dialect,
  })
  const result: SimulatedBlock[] = JSON.parse(answer.json.toString())
  return { ...answer, result }
}

describe('simulate', () => {
  it('returns one block per planned block, with the gas and touched state to meter', async () => {
    const answer = await run(
      { blockStateCalls: [{ calls: [{ to: A }] }, { blockOverrides: { number: '0x67' } }] },
      driverOf(sealed),
    )
    expect(answer.result.map((block) => [block.number, block.calls.length])).toEqual([
      ['0x65', 1],
      ['0x66', 0],
      ['0x67', 0],
    ])
    expect(answer.blocks.map(({ number }) => number)).toEqual([0x65n, 0x66n, 0x67n])
    expect(answer).toMatchObject({ gasUsed: 63_000n, touched: { accounts: 2, slots: 1 }, reads: 0 })
    expect(answer.result[0]).toMatchObject({
      hash: hashOf(1),
      size: '0x258',
      stateRoot: ZERO_HASH,
      transactions: [hashOf(100)],
      uncles: [],
      calls: [{ status: '0x1', returnData: '0x01', gasUsed: '0x5208', maxUsedGas: '0x5208', logs: [] }],
    })
    expect(answer.result[0]?.calls[0]).not.toHaveProperty('error')
    expect(answer.json).not.toContain('undefined')
  })

  it('sets the block and transaction fields of logs', async () => {
    const log = { address: ZERO_ADDRESS, topics: [hashOf(9)], data: '0x' as const, index: 6 }
    const call: ScriptedCall = { succeeded: true, gasUsed: 1n, maxUsedGas: 1n, returnData: '0x', logs: [log] }
    const { result } = await run(
      { blockStateCalls: [{ calls: [{}, {}] }] },
      driverOf((plan) => sealed(plan, [{ ...call, logs: [] }, call])),
    )
    expect(result[0]?.calls[1]?.logs).toEqual([
      {
        address: ZERO_ADDRESS,
        topics: [hashOf(9)],
        data: '0x',
        blockNumber: '0x65',
        blockHash: hashOf(1),
        blockTimestamp: '0x3f4',
        transactionHash: hashOf(101),
        transactionIndex: '0x1',
        logIndex: '0x6',
        removed: false,
      },
    ])
  })

  it('keeps revert data out of returnData', async () => {
    const reverted: ScriptedCall = {
      succeeded: false,
      gasUsed: 1n,
      maxUsedGas: 2n,
      returnData: '0x3cc50b45',
      logs: [],
      failure: { kind: 'revert' },
    }
    const driver = driverOf((plan) => sealed(plan, [reverted]))
    const payload = { blockStateCalls: [{ calls: [{}] }] }
    expect((await run(payload, driver)).result[0]?.calls[0]).toEqual({
      status: '0x0',
      returnData: '0x',
      gasUsed: '0x1',
      maxUsedGas: '0x2',
      logs: [],
      error: 'execution reverted: custom error 0x3cc50b45',
    })
    expect((await run(payload, driver, 'ethereum')).result[0]?.calls[0]?.error).toEqual({
      code: 3,
      message: 'execution reverted',
      data: '0x3cc50b45',
    })
  })

  it.each([
    [0, 1, 'blockStateCalls[0].calls[1]: block gas limit reached: remaining: 1, required: 2'],
    [2, 0, 'blockStateCalls[1].calls[0]: block gas limit reached: remaining: 1, required: 2'],
    [2, undefined, 'blockStateCalls[1]: block gas limit reached: remaining: 1, required: 2'],
    [1, undefined, 'blockStateCalls: block gas limit reached: remaining: 1, required: 2'],
  ])('names the place in the request if the engine rejects block %s, call %s', async (block, call, message) => {
    const driver = driverOf(() => {
      throw new SimulationRejected({ kind: 'blockGasLimit', left: 1n, asked: 2n }, block, call)
    })
    const payload = { blockStateCalls: [{ calls: [{}, {}] }, { blockOverrides: { number: '0x67' }, calls: [{}] }] }
    await expect(run(payload, driver)).rejects.toEqual(new RpcError(-38015, message))
  })

  it('rethrows errors other than rejections unchanged', async () => {
    const failure = new Error('upstream gone')
    const driver = driverOf(() => {
      throw failure
    })
    await expect(run({ blockStateCalls: [{}] }, driver)).rejects.toBe(failure)
  })
})
