import type { SimulatedBlock } from '@upfront/protocol'
import type { CallRecord } from '../engine/call-record.js'
import { type Difference, differenceOf, type Effects, effectsOf } from '../outcome/effects.js'
import { NO_RECORDING, type Recording } from '../plan/recording.js'
import type { Run, Simulation } from './simulate.js'

/** How each call differs, in order; undefined where it does the same. */
export type Differences = readonly (Difference | undefined)[]

/** Simulates calls otherwise; the first so many of them are left out of what is compared. */
export type Comparison = (
  changed: Simulation,
  options?: { leftOut?: number; recording?: Recording },
) => Promise<{ differences: Differences; records: readonly CallRecord[]; gas: bigint }>

/**
 * Finds how calls differ that are simulated otherwise. Where a digest of their effects says that they don't, that is one run; else one more, and
 * one of them as they are, for what is compared.
 * @param simulation as they are, of which `records` have digests
 */
export function comparison(simulation: Simulation, records: readonly CallRecord[], run: Run): Comparison {
  let expected: Effects[] | undefined
  return async (changed, { leftOut = 0, recording = NO_RECORDING } = {}) => {
    let gas = 0n
    const counted = async (asked: Simulation) => {
      const answer = await run(asked)
      gas += answer.gasUsed
      return answer
    }
    const effectsIn = async (of: Simulation): Promise<Effects[]> => {
      const request = { ...of.request, traceTransfers: true }
      const { json } = await counted({ ...of, request, recording: NO_RECORDING })
      const blocks: SimulatedBlock[] = JSON.parse(json.toString())
      return blocks.flatMap(({ calls, miner }) => calls.map((call) => effectsOf(call, miner)))
    }
    const answer = await counted({ ...changed, recording: { ...recording, effects: true, alone: true } })
    const found = answer.records.slice(leftOut)
    if (found.every(({ effects }, at) => effects === records[at]!.effects))
      return { differences: records.map(() => undefined), records: answer.records, gas }
    const effects = (await effectsIn(changed)).slice(leftOut)
    expected ??= await effectsIn(simulation)
    return { differences: effects.map((one, at) => differenceOf(expected![at]!, one)), records: answer.records, gas }
  }
}
