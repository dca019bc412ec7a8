import type { SimulatedBlock } from '@upfront/protocol'
import type { CallRecord } from '../engine/call-record.js'
import { type Difference, differenceOf, type Effects, effectsOf } from '../outcome/effects.js'
import { NO_RECORDING, type Recording } from '../plan/recording.js'
import type { Run, Simulation, SimulationAnswer } from './simulate.js'

/** How each call differs, in order; undefined where it does the same. */
export type Differences = readonly (Difference | undefined)[]

/** Simulates calls otherwise; the first so many of them are left out of what is compared. */
export type Comparison = (
  changed: Simulation,
  options?: { leftOut?: number; recording?: Recording },
) => Promise<{ differences: Differences; records: readonly CallRecord[]; gas: bigint }>

/**
 * Finds how calls differ that are simulated otherwise. As long as digests of their effects say that they don't, each time that is one run of
 * little more than the calls; where they do, what they came to is compared from then on.
 * @param simulation as they are, of which `records` have digests
 */
export function comparison(simulation: Simulation, records: readonly CallRecord[], run: Run): Comparison {
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
