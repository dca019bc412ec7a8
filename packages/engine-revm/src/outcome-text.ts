import type { JsonText } from '@upfront/protocol'
import { type Answer, AnswerTooLong, type SimulationPlan, SimulationRejected } from '@upfront/simulation'
import { readRejected, readWritten } from './border/records.js'
import { TextReader } from './border/text.js'

/** An answer with its JSON cut where failed calls' errors belong. @param long the JSON, where it is not in the text */
export function readAnswer(text: string, long: Buffer | undefined): Answer {
  const reader = new TextReader(text)
  const { accounts, slots, touchedList, readList, gasUsed, failures, records } = readWritten(reader)
  const json: JsonText = long ?? reader.rest()
  const ends = [...failures.map(({ at }) => at), json.length]
  return {
    pieces: failures.length === 0 ? [json] : ends.map((end, index) => partOf(json, ends[index - 1] ?? 0, end)),
    failures: failures.map(({ halt, isGasCapped, returnData }) => ({
      failure: halt === undefined ? { kind: 'revert' } : { kind: 'halt', halt, isGasCapped },
      returnData,
    })),
    gasUsed,
    touched: { accounts, slots },
    touchedList,
    readList,
    records,
  }
}

/** Why there is no answer. */
export function readRejection(text: string, plan: SimulationPlan): Error {
  const { rejection, block, call } = readRejected(new TextReader(text))
  return rejection === undefined ? new AnswerTooLong(plan.answerBytes) : new SimulationRejected(rejection, block, call)
}

function partOf(json: JsonText, start: number, end: number): JsonText {
  return typeof json === 'string' ? json.slice(start, end) : json.subarray(start, end)
}
