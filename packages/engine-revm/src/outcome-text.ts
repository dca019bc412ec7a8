import type { JsonText } from '@upfront/protocol'
import {
  type Answer,
  AnswerTooLong,
  type FailedCall,
  type SimulationPlan,
  SimulationRejected,
} from '@upfront/simulation'
import { readRejected, readWritten } from './border/records.js'
import { TextReader } from './border/text.js'

/**
 * Decodes an answer, with its JSON split where failed calls' errors belong and where recorded calls end.
 * @param long the JSON and the steps after it, if they are not in the text
 */
export function readAnswer(text: string, long: Buffer | undefined): Answer {
  const reader = new TextReader(text)
  const { accounts, slots, touchedList, readList, gasUsed, failures, ends, records, steps } = readWritten(reader)
  const all: JsonText = long ?? reader.rest()
  const json = partOf(
    all,
    0,
    steps.reduce((end, length) => end - length, all.length),
  )
  let stepsEnd = json.length
  for (const [index, length] of steps.entries()) {
    if (length > 0) records[index]!.steps = partOf(all, stepsEnd, stepsEnd + length)
    stepsEnd += length
  }
  const failed = failures.map(({ halt, isGasCapped, returnData }): FailedCall => {
    return { failure: halt === undefined ? { kind: 'revert' } : { kind: 'halt', halt, isGasCapped }, returnData }
  })
  // A failed call's error belongs at the end of the call.
  const cuts = ends.length > 0 ? ends : failures.map(({ at }) => at)
  let next = 0
  return {
    pieces:
      cuts.length === 0 ? [json] : [...cuts, json.length].map((end, index) => partOf(json, cuts[index - 1] ?? 0, end)),
    failures: cuts.map((cut) => (failures[next]?.at === cut ? failed[next++] : undefined)),
    gasUsed,
    touched: { accounts, slots },
    touchedList,
    readList,
    records,
  }
}

/** Decodes why there is no answer. */
export function readRejection(text: string, plan: SimulationPlan): Error {
  const { rejection, block, call } = readRejected(new TextReader(text))
  return rejection === undefined ? new AnswerTooLong(plan.answerBytes) : new SimulationRejected(rejection, block, call)
}

function partOf(json: JsonText, start: number, end: number): JsonText {
  return typeof json === 'string' ? json.slice(start, end) : json.subarray(start, end)
}
