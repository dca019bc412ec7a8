import type { SimulatedBlock } from '@upfront/protocol'
import type { CallRecord } from '../engine/call-record.js'
import { type Difference, differenceOf, type Effects, effectsOf } from '../outcome/effects.js'
import { NO_RECORDING, type Recording } from '../plan/recording.js'
import type { Run, Simulation, SimulationAnswer } from './simulate.js'

/** How each call's outcome differs, in order; undefined if it is the same. */
export type Differences = readonly (Difference | undefined)[]

/** Simulates changed calls and compares them with the original ones. `leftOut`: number of leading calls that are not compared. */
export type Comparison = (
  changed: Simulation,
  options?: { leftOut?: number; recording?: Recording },
) => Promise<{ differences: Differences; records: readonly CallRecord[]; gas: bigint }>

/**
 * Compares changed simulations with the original one. While digests of the effects are equal, this takes one short run per comparison;
 * after the first difference, the effects themselves are compared.
 * @param simulation the original @param records of the original, with digests of effects
 */
export function createComparison(simulation: Simulation, records: readonly CallRecord[], run: Run): Comparison {
  let expected: Effects[] | undefined
  return async (changed, { leftOut = 0, recording = NO_RECORDING } = {}) => {
    let gas = 0n
    const counted = async (asked: Simulation): Promise<SimulationAnswer> => {
      const answer = await run(asked)
      gas += answer.gasUsed
      return answer
    }
    const shown = async (of: Simulation, recording: Recording) => {
      const { json, records } = await counted({ ...of, request: { ...of.request, traceTransfers: true }, recording })
      const blocks: SimulatedBlock[] = JSON.parse(json.toString())
      return { effects: blocks.flatMap(({ calls, miner }) => calls.map((call) => effectsOf(call, miner))), records }
    }
    if (expected === undefined) {
      const { records: told } = await counted({ ...changed, recording: { ...recording, effects: true, alone: true } })
      const isSame = told.slice(leftOut).every(({ effects }, at) => effects === records[at]!.effects)
      if (isSame) return { differences: records.map(() => undefined), records: told, gas }
      expected = (await shown(simulation, NO_RECORDING)).effects
    }
    const found = await shown(changed, recording)
    const effects = found.effects.slice(leftOut)
    return { differences: effects.map((one, at) => differenceOf(expected![at]!, one)), records: found.records, gas }
  }
}
