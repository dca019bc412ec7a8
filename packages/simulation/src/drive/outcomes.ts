import type { DecidingFact } from '../engine/call-record.js'
import type { Circumstances } from '../outcome/circumstances.js'
import { type Outcome, type Tried, verdictOf } from '../outcome/verdict.js'
import type { Differences } from './comparison.js'
import { type Condition, conditionsFor, joinConditions, type Simulated, separateConditions } from './conditions.js'
import { nodeFailureReason, runIfValid } from './run-if-valid.js'
import type { Simulation } from './simulate.js'

/**
 * Whether each call would have the same outcome under other circumstances that may well occur. Only conditions with a deciding fact are
 * tried, all in one run; if that differs, each one separately.
 * @param simulated with dependencies
 * @returns in the order of the calls, with the gas used
 * @throws or rejects with what the runs do
 */
export async function determineOutcomes(simulated: Simulated): Promise<{ outcomes: Outcome[]; gas: bigint }> {
  const { simulation, records, compare, isForAll } = simulated
  const tried: Tried[][] = records.map(() => [])
  const { together, apart, elsewhere, leftOut: unproven } = conditionsFor(simulated)
  const leftOut = [...simulated.leftOut, ...unproven]
  let gas = 0n
  const differences = async (conditions: readonly Condition[]): Promise<Differences | undefined> => {
    let changed: Simulation | undefined = simulation
    for (const condition of conditions) changed = changed && (await condition.apply(changed))
    if (changed === undefined) return undefined
    const asked = changed
    try {
      const found = await runIfValid(() => compare(asked))
      gas += found?.gas ?? 0n
      return found?.differences
    } catch (error) {
      leftOut.push(`${joinConditions(conditions).under}: ${nodeFailureReason(error, { ...simulation, isForAll })}`)
      return undefined
    }
  }
  const note = (condition: Circumstances, found: Differences | undefined) => {
    for (const [at, difference] of (found ?? []).entries())
      if (difference !== undefined) tried[at]!.push({ condition, difference })
    return found?.every((difference) => difference !== undefined) ?? false
  }
  const tryAlone = async (conditions: readonly Condition[]) => {
    for (const condition of conditions) note(condition, await differences([condition]))
  }
  if (together.length > 0) {
    const found = await differences(together)
    const differs = found?.some((difference) => difference !== undefined) ?? true
    if (differs) await tryAlone(separateConditions(together, simulated))
    for (const [at, difference] of (found ?? []).entries())
      if (difference !== undefined && tried[at]!.length === 0)
        tried[at]!.push({ condition: joinConditions(together), difference })
  }
  await tryAlone(apart)
  for (const { under, changesOf, differences } of simulated.afterWaiting) {
    const changesFact = (fact: DecidingFact) => changesOf(fact) > 0
    note({ under, category: 'course', changesFact }, differences)
  }
  // One differing place is enough.
  for (const condition of elsewhere) if (note(condition, await differences([condition]))) break
  const outcomes = records.map((record, at) => ({
    ...verdictOf(record, tried[at]!),
    ...(leftOut.length > 0 && { leftOut }),
  }))
  return { outcomes, gas }
}
