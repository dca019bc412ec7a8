import type { SimulationRequest } from '@upfront/protocol'
import type { CallRecord, Frame } from '../engine/call-record.js'
import { unlessRefused } from './unless-refused.js'

/** Runs of one request at most: what is not found by then is left out. */
const MOST_RUNS = 128

/**
 * The smallest gas limits with which each call of a bundle still does what it did: the same frames with the same inputs and outputs, failing
 * where they failed, with the same logs. So an inner call that would lack gas counts (a caller keeps 1/64), and gas that is refunded at the
 * end. A call's limit is found with those of the calls before it in place.
 * @param reference what the calls did with the limits that they have, frames included
 * @param used of each call, before refunds
 * @param run does the request with other limits
 * @param onFailed is told why a run failed; what it throws ends the search without any limit
 * @returns in the order of the calls; undefined for a call whose limit was not found within 128 runs, or before a run failed
 */
export async function leastGas(
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
  /** The first call that does something else with these limits; the number of calls where none does. */
  const firstChanged = async (tried: readonly bigint[]): Promise<number> => {
    runs += 1
    const records = await unlessRefused(() => run(withLimits(request, tried)))
    if (records === undefined) return -1
    const changed = outcomes.findIndex((outcome, at) => records[at] === undefined || outcomeOf(records[at]) !== outcome)
    return changed === -1 ? outcomes.length : changed
  }
  let next = -1
  try {
    for (;;) {
      const changed = await firstChanged(limits.map((limit, at) => limit ?? given[at]!))
      if (changed === outcomes.length) return limits
      // A limit found earlier no longer has the same effect, because it depends on another call's gas: the remaining limits are left out.
      if (changed <= next || runs >= MOST_RUNS) return limits.map((limit, at) => (at <= next ? limit : undefined))
      next = changed
      const tried = (limit: bigint) =>
        given.map((gas, at) => (at < next ? (limits[at] ?? gas) : at === next ? limit : gas))
      const holds = async (limit: bigint) => (await firstChanged(tried(limit))) > next
      limits[next] = await search(used[next]!, given[next]!, holds, () => runs < MOST_RUNS)
    }
  } catch (error) {
    onFailed(error)
    return limits.map((limit, at) => (at < next ? limit : undefined))
  }
}

/**
 * The smallest limit that is enough.
 * @param tooLittle a limit that is not enough
 * @param enough one that is
 * @returns undefined where no run is left
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
