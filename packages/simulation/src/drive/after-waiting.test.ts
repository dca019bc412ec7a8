import { UpstreamError, UpstreamFault } from '@upfront/node'
import { type Call, ErrorCode, RpcError } from '@upfront/protocol'
import { simulateAfterWaiting } from './after-waiting.js'
import type { Comparison } from './comparison.js'
import { ReadBudget } from './read-budget.js'
import type { Simulation } from './simulate.js'

const GAS = 1_000_000n
const FRIEND = '0xf000000000000000000000000000000000000001'
const given = { calls: [{ from: FRIEND, gas: GAS }] as Call[], signed: [] }
const seen = (...gas: bigint[]) => gas.map((gas): Call => ({ from: FRIEND, gas }))

const simulation = () =>
  ({
    request: { blockStateCalls: [{ blockOverrides: {}, stateOverrides: [], calls: [{ to: FRIEND }] }] },
    limits: { gas: GAS },
    budget: new ReadBudget(100, performance.now() + 60_000),
    cancellation: { signal: new AbortController().signal },
  }) as unknown as Simulation

/** Calls `simulateAfterWaiting`. `runs` has, for each run, the gas limits of the calls put before the request's. */
async function tried(
  waiting: { given?: typeof given; seen?: Call[] },
  run: (simulation: Simulation) => void = () => undefined,
  { gasUsed = 0n, isForAll = false } = {},
) {
  const runs: bigint[][] = []
  const compare: Comparison = async (asked) => {
    const [block] = asked.request.blockStateCalls
    runs.push(block!.calls.slice(0, -1).map(({ gas }) => gas!))
    run(asked)
    return { differences: [], records: [], gas: 1n }
  }
  const all = { given: { calls: [], signed: [] }, seen: [], ...waiting }
  const { tried, leftOut, gas } = await simulateAfterWaiting(simulation(), all, gasUsed, compare, isForAll)
  return { runs, under: tried.map(({ under }) => under), leftOut, gas }
}

const limited = () => {
  throw new RpcError(ErrorCode.limitExceeded, 'too much')
}

const silent = () => {
  throw new UpstreamError(new UpstreamFault('timeout', 'no answer in time'), 'node', 'reading state', 1)
}

describe('simulateAfterWaiting', () => {
  it('tries given transactions whatever their gas, and seen ones up to a quarter of the gas limit', async () => {
    const { runs, leftOut } = await tried({ given, seen: seen(200_000n, 100_000n, 50_000n) })
    expect(runs).toEqual([[GAS], [200_000n, 50_000n]])
    expect(leftOut).toEqual(["a waiting transaction: it takes more than is spared of the request's limits"])
  })

  it('reserves the gas that the calls used', async () => {
    const { runs, leftOut } = await tried({ seen: seen(200_000n, 50_000n) }, undefined, { gasUsed: GAS - 60_000n })
    expect(runs).toEqual([[50_000n]])
    expect(leftOut).toHaveLength(1)
  })

  it('lists seen transactions that exceed a limit as left out, and rejects for given ones', async () => {
    const spare = ({ isSpare }: Simulation) => isSpare && limited()
    const { under, leftOut } = await tried({ given, seen: seen(100n, 200n) }, spare)
    expect(under).toEqual(['a place after a waiting transaction'])
    expect(leftOut).toEqual(["2 waiting transactions: they take more than is spared of the request's limits"])
    await expect(tried({ given }, limited)).rejects.toThrow('too much')
  })

  it('lists runs without an answer from the node as left out, and rejects with isForAll', async () => {
    const why = 'upstream node: reading state: no answer in time'
    const { runs, under, leftOut } = await tried({ given, seen: seen(100n, 200n) }, silent)
    expect({ under, leftOut }).toEqual({
      under: [],
      leftOut: [`a waiting transaction: ${why}`, `2 waiting transactions: ${why}`],
    })
    expect(runs).toEqual([[GAS], [100n, 200n]])
    await expect(tried({ given }, silent, { isForAll: true })).rejects.toThrow(why)
  })

  it('gives seen transactions a quarter of the read limit', async () => {
    const reading = ({ isSpare, budget }: Simulation) => isSpare && budget.take(26)
    expect((await tried({ seen: seen(100n) }, reading)).leftOut).toHaveLength(1)
    expect((await tried({ seen: seen(100n) }, ({ budget }) => budget.take(25))).leftOut).toEqual([])
  })
})
