import { type Answer, AnswerTooLong, type FailedCall, type SimulationOutcome } from '../engine/engine.js'
import type { SimulationPlan } from '../plan/simulation-plan.js'
import { ERROR_GAP, presentBlocks } from './present-blocks.js'

/** No string of an answer holds quotes: this text is nothing but the place of an error. */
const GAP_TEXT = `,"error":${JSON.stringify(ERROR_GAP)}`

/** What was executed as the answer of an engine. @throws RpcError -32005 where it is longer than the plan allows */
export function answerOf(outcome: SimulationOutcome, plan: SimulationPlan): Answer {
  const { blocks, ...touched } = outcome
  const { answerBytes } = plan
  // Before the text is made: V8's strings end at 512 MB.
  if (outputLength(outcome) > answerBytes) throw new AnswerTooLong(answerBytes)
  const failures: FailedCall[] = []
  for (const { calls } of blocks)
    for (const { failure, returnData } of calls) if (failure !== undefined) failures.push({ failure, returnData })
  const pieces = JSON.stringify(presentBlocks(blocks, plan)).split(GAP_TEXT)
  const length =
    pieces.reduce((sum, piece) => sum + piece.length, 0) +
    failures.reduce((sum, { returnData }) => sum + returnData.length, 0)
  if (length > answerBytes) throw new AnswerTooLong(answerBytes)
  const gasUsed = blocks.reduce((sum, { header }) => sum + header.gasUsed, 0n)
  const records = blocks.flatMap(({ calls }) => calls.flatMap(({ record }) => record ?? []))
  return { pieces, failures, gasUsed, ...touched, records }
}

/** Of return data and logs alone. */
function outputLength({ blocks }: SimulationOutcome): number {
  let length = 0
  for (const { calls } of blocks)
    for (const { returnData, logs } of calls) {
      length += returnData.length
      for (const { data, topics } of logs) length += data.length + 68 * topics.length
    }
  return length
}
