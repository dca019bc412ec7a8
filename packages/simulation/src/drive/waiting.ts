import { type Call, MOST_WAITING_CALLS, RpcError, type SimulatedBlock, type WaitingCalls } from '@upfront/protocol'
import type { CallRecord, DecidingFact } from '../engine/call-record.js'
import type { Difference } from '../outcome/effects.js'
import { changedFacts, stateKey } from '../outcome/shown-dependencies.js'
import type { Run, Simulation } from './simulate.js'
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

interface Waiting {
  /** By the request: what they take is its own. */
  given: WaitingCalls
  /** By the gateway: strangers', which take a part of what the request may, or are left out. */
  seen: readonly Call[]
}

/** Part of a request's limits that strangers' transactions may take. */
const PART = 4

/**
 * All of them together, those given apart from those seen; where not all are valid there, each that is.
 * @param gasUsed of the request's calls
 * @param compare tells how calls differ, the first so many of the blocks left out
 * @returns with what was left out, in words, and the gas that it took
 * @throws or rejects with what `run` does; RpcError -32602 with the place of a signed one that can't be read
 */
export async function afterWaiting(
  simulation: Simulation,
  { given, seen }: Waiting,
  gasUsed: bigint,
  run: Run,
  compare: (found: readonly SimulatedBlock[], leftOut: number) => (Difference | undefined)[],
): Promise<{ tried: AfterWaiting[]; leftOut: string[]; gas: bigint }> {
  const calls = [...given.calls]
  for (const { call, raw, place } of given.signed) calls[call] = await readSigned(raw, simulation.rules.chainId, place)
  let gas = 0n
  const after =
    (on: Simulation) =>
    async (first: readonly Call[], under: string): Promise<AfterWaiting[]> => {
      const asked = withFirst(on, first)
      const answer = await unlessRefused(() => run(asked))
      if (answer === undefined) return []
      gas += answer.gasUsed
      // At once, rather than keep the answers of all runs.
      const differences = compare(JSON.parse(answer.json.toString()), first.length)
      const changed = countsOf(answer.records.slice(0, first.length))
      return [{ under, differences, changesOf: (fact) => changed.get(stateKey(fact)) ?? 0 }]
    }
  const tried = await together(calls.slice(0, MOST_WAITING_CALLS), after(simulation))
  const { limits, budget, cancellation } = simulation
  const [left, most] = [limits.gas - gasUsed, limits.gas / BigInt(PART)]
  const affordable = affordableOf(seen, left < most ? left : most)
  const leftOut = seen.length - affordable.length
  try {
    const spare = { ...simulation, budget: budget.part(PART), isSpare: true }
    tried.push(...(await together(affordable, after(spare))))
  } catch (error) {
    cancellation.signal.throwIfAborted()
    if (!(error instanceof RpcError)) throw error
    return { tried, leftOut: [leftOutOf(seen.length)], gas }
  }
  return { tried, leftOut: leftOut === 0 ? [] : [leftOutOf(leftOut)], gas }
}

async function together(
  calls: readonly Call[],
  after: (first: readonly Call[], under: string) => Promise<AfterWaiting[]>,
): Promise<AfterWaiting[]> {
  const [first] = calls
  if (first === undefined) return []
  const one = 'a place after a waiting transaction'
  if (calls.length === 1) return after([first], one)
  const all = await after(calls, `a place after ${calls.length} waiting transactions`)
  if (all.length > 0) return all
  const each: AfterWaiting[] = []
  for (const call of calls) each.push(...(await after([call], one)))
  return each
}

/** The first of them that together have no more gas. */
function affordableOf(calls: readonly Call[], most: bigint): Call[] {
  let left = most
  return calls.filter(({ gas }) => {
    if (gas === undefined || gas > left) return false
    left -= gas
    return true
  })
}

function leftOutOf(count: number): string {
  const [what, takes] =
    count === 1 ? ['a waiting transaction', 'it takes'] : [`${count} waiting transactions`, 'they take']
  return `${what}: ${takes} more than is spared of the request's limits`
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
