import { type Dialect, type JsonText, joinJson, type SimulatedBlock } from '@upfront/protocol'
import type { Answer } from '../engine/engine.js'
import { presentFailure } from './present-failure.js'

/** The answer as JSON text with error messages in the dialect, one part per split. */
export function answerParts({ pieces, failures }: Pick<Answer, 'pieces' | 'failures'>, dialect: Dialect): JsonText[] {
  return pieces.map((piece, index) => {
    const failure = failures[index]
    if (failure === undefined) return piece
    return joinJson([piece, `,"error":${JSON.stringify(presentFailure(failure, dialect))}`])
  })
}

/** The parsed answer. For small answers. */
export function answerBlocks(answer: Pick<Answer, 'pieces' | 'failures'>, dialect: Dialect): SimulatedBlock[] {
  return JSON.parse(joinJson(answerParts(answer, dialect)).toString()) as SimulatedBlock[]
}
