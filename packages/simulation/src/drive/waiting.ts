import { type Call, MOST_WAITING_CALLS, type SimulatedBlock, type WaitingCalls } from '@upfront/protocol'
import type { CallRecord, DecidingFact } from '../engine/call-record.js'
import type { Difference } from '../outcome/effects.js'
import { changedFacts, stateKey } from '../outcome/shown-dependencies.js'
import type { Run } from './inspect.js'
import type { Simulation } from './simulate.js'
import { unlessRefused } from './unless-refused.js'
import { readSigned } from './with-signed-calls.js'

/** What a request comes to once transactions that wait have come before it. */
export interface AfterWaiting {
  /** In words. */
  under: string
  /** How each call of the request then differs, in order. */
  differences: readonly (Difference | undefined)[]
  /** How many of them change the fact. */
  changesOf(fact: Pick<DecidingFact, 'kind' | 'address' | 'slot'>): number
}

/**
 * All of them together; where not all are valid there, each that is.
 * @param given by the request, or seen
 * @param compare tells how calls differ, the first so many of the blocks left out
 * @returns with the gas that it took
 * @throws or rejects with what `run` does; RpcError -32602 with the place of a signed one that can't be read
 */
export async function afterWaiting(
  simulation: Simulation,
  given: WaitingCalls,
  run: Run,
  compare: (found: readonly SimulatedBlock[], leftOut: number) => (Difference | undefined)[],
): Promise<{ tried: AfterWaiting[]; gas: bigint }> {
  const calls = [...given.calls]
  for (const { call, raw, place } of given.signed) calls[call] = await readSigned(raw, simulation.rules.chainId, place)
  let gas = 0n
  const after = async (first: readonly Call[], under: string): Promise<AfterWaiting[]> => {
    const asked = withFirst(simulation, first)
    const answer = await unlessRefused(() => run(asked))
    if (answer === undefined) return []
    gas += answer.gasUsed
    // At once, rather than keep the answers of all runs.
    const differences = compare(JSON.parse(answer.json.toString()), first.length)
    const changed = countsOf(answer.records.slice(0, first.length))
    return [{ under, differences, changesOf: (fact) => changed.get(stateKey(fact)) ?? 0 }]
  }
  const some = calls.slice(0, MOST_WAITING_CALLS)
  const [first] = some
  if (first === undefined) return { tried: [], gas }
  const one = 'a place after a waiting transaction'
  if (some.length === 1) return { tried: await after([first], one), gas }
  let tried = await after(some, `a place after ${some.length} waiting transactions`)
  if (tried.length === 0) for (const call of some) tried = [...tried, ...(await after([call], one))]
  return { tried, gas }
}

function withFirst(simulation: Simulation, calls: readonly Call[]): Simulation {
  const [block, ...rest] = simulation.request.blockStateCalls
  const blockStateCalls = block === undefined ? [] : [{ ...block, calls: [...calls, ...block.calls] }, ...rest]
  return {
    ...simulation,
    request: { ...simulation.request, blockStateCalls, traceTransfers: true },
    recording: { frames: false, state: true, withoutCode: true },
  }
}

/** How many of the calls change each place of the state. */
function countsOf(records: readonly CallRecord[]): Map<string, number> {
  const counts = new Map<string, number>()
  for (const key of records.flatMap((record) => changedFacts(record).map(stateKey)))
    counts.set(key, (counts.get(key) ?? 0) + 1)
  return counts
}
