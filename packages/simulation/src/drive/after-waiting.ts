import { type Call, ErrorCode, MAX_WAITING_CALLS, RpcError, type WaitingCalls } from '@upfront/protocol'
import type { CallRecord, DecidingFact } from '../engine/call-record.js'
import { changedFacts, stateKey } from '../outcome/shown-dependencies.js'
import type { Comparison, Differences } from './comparison.js'
import { nodeFailureReason, runIfValid } from './run-if-valid.js'
import type { Simulation } from './simulate.js'
import { readSigned } from './with-signed-calls.js'

/** The request's outcome after waiting transactions. */
export interface AfterWaiting {
  /** Description. */
  under: string
  /** Differences of the request's calls. */
  differences: Differences
  /** How many of the waiting transactions change the fact. */
  changesOf(fact: Pick<DecidingFact, 'kind' | 'address' | 'slot'>): number
}

interface Waiting {
  /** Given by the request, at its own cost. */
  given: WaitingCalls
  /** Seen by the gateway: limited to a part of the request's limits, or left out. */
  seen: readonly Call[]
}

/** Divisor of the request's limits for transactions that the gateway saw. */
const LIMITS_DIVISOR = 4

/**
 * Simulates the request after waiting transactions: all given ones together, then all seen ones; if not all are valid, each separately.
 * @param gasUsed of the request's calls
 * @param isForAll see `nodeFailureReason`
 * @returns with descriptions of what was left out, and the gas used
 * @throws or rejects with what the runs do; RpcError -32602 with the place of an invalid signed transaction
 */
export async function simulateAfterWaiting(
  simulation: Simulation,
  { given, seen }: Waiting,
  gasUsed: bigint,
  compare: Comparison,
  isForAll: boolean,
): Promise<{ tried: AfterWaiting[]; leftOut: string[]; gas: bigint }> {
  const { limits, budget, cancellation } = simulation
  const calls = [...given.calls]
  for (const { call, raw, place } of given.signed) calls[call] = await readSigned(raw, simulation.rules.chainId, place)
  let gas = 0n
  const tried: AfterWaiting[] = []
  const leftOut: string[] = []
  /** Returns whether the transactions are valid. */
  const after = async (on: Simulation, first: readonly Call[], under: string): Promise<boolean> => {
    const recording = { frames: false, state: true, withoutCode: true }
    const found = await runIfValid(() => compare(prependCalls(on, first), { leftOut: first.length, recording }))
    if (found === undefined) return false
    gas += found.gas
    const changed = countChanges(found.records.slice(0, first.length))
    tried.push({ under, differences: found.differences, changesOf: (fact) => changed.get(stateKey(fact)) ?? 0 })
    return true
  }
  const together = async (on: Simulation, calls: readonly Call[]): Promise<void> => {
    const one = 'a place after a waiting transaction'
    if (calls.length > 1 && (await after(on, calls, `a place after ${calls.length} waiting transactions`))) return
    for (const call of calls) await after(on, [call], one)
  }
  const why = (error: unknown) => nodeFailureReason(error, { cancellation, isForAll })
  const own = calls.slice(0, MAX_WAITING_CALLS)
  await together(simulation, own).catch((error) => leftOut.push(describeLeftOut(own.length, why(error))))
  const [left, most] = [limits.gas - gasUsed, limits.gas / BigInt(LIMITS_DIVISOR)]
  const affordable = fitWithinGas(seen, left < most ? left : most)
  if (affordable.length < seen.length) leftOut.push(describeLeftOut(seen.length - affordable.length))
  const spare = { ...simulation, budget: budget.part(LIMITS_DIVISOR), isSpare: true }
  await together(spare, affordable).catch((error) => {
    const isOver = error instanceof RpcError && error.code === ErrorCode.limitExceeded
    leftOut.push(describeLeftOut(affordable.length, isOver && !cancellation.signal.aborted ? undefined : why(error)))
  })
  return { tried, leftOut, gas }
}

/** The first calls whose gas limits together fit. */
function fitWithinGas(calls: readonly Call[], most: bigint): Call[] {
  let left = most
  return calls.filter(({ gas }) => {
    if (gas === undefined || gas > left) return false
    left -= gas
    return true
  })
}

function describeLeftOut(count: number, reason?: string): string {
  const [what, takes] =
    count === 1 ? ['a waiting transaction', 'it takes'] : [`${count} waiting transactions`, 'they take']
  return `${what}: ${reason ?? `${takes} more than is spared of the request's limits`}`
}

function prependCalls(simulation: Simulation, calls: readonly Call[]): Simulation {
  const [block, ...rest] = simulation.request.blockStateCalls
  const blockStateCalls = block === undefined ? [] : [{ ...block, calls: [...calls, ...block.calls] }, ...rest]
  return {
    ...simulation,
    request: { ...simulation.request, blockStateCalls },
  }
}

/** How many of the calls change each fact, by its key. */
function countChanges(records: readonly CallRecord[]): Map<string, number> {
  const counts = new Map<string, number>()
  for (const key of records.flatMap((record) => changedFacts(record).map(stateKey)))
    counts.set(key, (counts.get(key) ?? 0) + 1)
  return counts
}
