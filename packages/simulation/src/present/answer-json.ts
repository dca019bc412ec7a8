import { type Dialect, type JsonText, joinJson, type SimulatedBlock } from '@upfront/protocol'
import type { Answer } from '../engine/engine.js'
import { presentFailure } from './present-failure.js'

/** The answer as JSON text, its errors in the words of the dialect, up to each of its cuts and after the last. */
export function answerParts({ pieces, failures }: Pick<Answer, 'pieces' | 'failures'>, dialect: Dialect): JsonText[] {
  return pieces.map((piece, index) => {
    const failure = failures[index]
    if (failure === undefined) return piece
    return joinJson([piece, `,"error":${JSON.stringify(presentFailure(failure, dialect))}`])
  })
}

/** The answer parsed: for small ones, of which single values are wanted. */
export function answerBlocks(answer: Pick<Answer, 'pieces' | 'failures'>, dialect: Dialect): SimulatedBlock[] {
  return JSON.parse(joinJson(answerParts(answer, dialect)).toString()) as SimulatedBlock[]
}
