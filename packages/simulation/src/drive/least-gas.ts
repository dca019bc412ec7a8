import type { SimulationRequest } from '@upfront/protocol'
import type { CallRecord, Frame } from '../engine/call-record.js'
import { runIfValid } from './run-if-valid.js'

/** Limit of runs per request; limits not found by then are left out. */
const MAX_RUNS = 128

/**
 * The smallest gas limits with which each call of a bundle has the same effect: the same frames with inputs, outputs and failures, and the
 * same logs. This covers inner calls that would run out of gas (EIP-150) and refunds. Each limit is searched with those of earlier calls
 * applied.
 * @param reference the calls with their given limits, with frames
 * @param used gas of each call, before refunds
 * @param run runs the request with other limits
 * @param onFailed called with a run's error; if it throws, the search ends without any limit
 * @returns in the order of the calls; undefined for a limit not found within 128 runs, or before a run failed
 */
export async function minGas(
  request: SimulationRequest,
  reference: readonly CallRecord[],
  used: readonly bigint[],
  run: (request: SimulationRequest) => Promise<readonly CallRecord[]>,
  onFailed: (error: unknown) => void,
): Promise<(bigint | undefined)[]> {
  const outcomes = reference.map(outcomeOf)
  const given = reference.map(({ gas }) => gas)
  const limits: (bigint | undefined)[] = [...used]
  let runs = 0
  /** Index of the first call that behaves differently with these limits; the number of calls if none does. */
  const firstChanged = async (tried: readonly bigint[]): Promise<number> => {
    runs += 1
    const records = await runIfValid(() => run(withLimits(request, tried)))
    if (records === undefined) return -1
    const changed = outcomes.findIndex((outcome, at) => records[at] === undefined || outcomeOf(records[at]) !== outcome)
    return changed === -1 ? outcomes.length : changed
  }
  let next = -1
  try {
    for (;;) {
      const changed = await firstChanged(limits.map((limit, at) => limit ?? given[at]!))
      if (changed === outcomes.length) return limits
      // An earlier limit has a different effect now, because it depends on another call's gas: leave the remaining limits out.
      if (changed <= next || runs >= MAX_RUNS) return limits.map((limit, at) => (at <= next ? limit : undefined))
      next = changed
      const tried = (limit: bigint) =>
        given.map((gas, at) => (at < next ? (limits[at] ?? gas) : at === next ? limit : gas))
      const holds = async (limit: bigint) => (await firstChanged(tried(limit))) > next
      limits[next] = await search(used[next]!, given[next]!, holds, () => runs < MAX_RUNS)
    }
  } catch (error) {
    onFailed(error)
    return limits.map((limit, at) => (at < next ? limit : undefined))
  }
}

/**
 * Searches the smallest sufficient limit.
 * @param tooLittle a limit that is insufficient
 * @param enough one that is sufficient
 * @returns undefined if no runs are left
 */
export async function search(
  tooLittle: bigint,
  enough: bigint,
  holds: (limit: bigint) => Promise<boolean>,
  mayGoOn: () => boolean,
): Promise<bigint | undefined> {
  let low = tooLittle
  let high = enough
  // Most calls need little more than they used.
  for (let step = low / 63n + 1n; low + step < high; step *= 4n) {
    if (!mayGoOn()) return undefined
    if (await holds(low + step)) high = low + step
    else low += step
  }
  while (low + 1n < high) {
    if (!mayGoOn()) return undefined
    const middle = (low + high) / 2n
    if (await holds(middle)) high = middle
    else low = middle
  }
  return high
}

function withLimits(request: SimulationRequest, limits: readonly bigint[]): SimulationRequest {
  let next = 0
  const blockStateCalls = request.blockStateCalls.map((block) => ({
    ...block,
    calls: block.calls.map((call) => ({ ...call, gas: limits[next++]! })),
  }))
  return { ...request, blockStateCalls }
}

function outcomeOf({ frames }: CallRecord): string {
  return JSON.stringify(frames.map(apartFromGas))
}

function apartFromGas({ gas: _gas, gasUsed: _gasUsed, value, halt, ...frame }: Frame): object {
  return { ...frame, value: value?.toString(), hasHalted: halt !== undefined }
}
