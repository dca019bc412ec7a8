import { type Dialect, type JsonText, joinJson, type SimulatedBlock } from '@upfront/protocol'
import type { Answer } from '../engine/engine.js'
import { presentFailure } from './present-failure.js'

/** The answer as JSON text, its errors in the words of the dialect. */
export function answerJson({ pieces, failures }: Pick<Answer, 'pieces' | 'failures'>, dialect: Dialect): JsonText {
  const [only] = pieces
  if (only !== undefined && failures.length === 0) return only
  const parts: JsonText[] = []
  pieces.forEach((piece, index) => {
    if (index > 0) parts.push(`,"error":${JSON.stringify(presentFailure(failures[index - 1]!, dialect))}`)
    parts.push(piece)
  })
  return joinJson(parts)
}

/** The answer parsed: for small ones, of which single values are wanted. */
export function answerBlocks(answer: Pick<Answer, 'pieces' | 'failures'>, dialect: Dialect): SimulatedBlock[] {
  return JSON.parse(answerJson(answer, dialect).toString()) as SimulatedBlock[]
}
