import { memoryGas, wordsOf } from '@upfront/simulation'
import type { RunState } from './legacy-opcodes.js'

/** Gas that it costs to have memory up to `end`. */
export function expansionGas({ memoryWordCount, highestMemCost }: RunState, end: bigint): bigint {
  return wordsOf(end) > memoryWordCount ? memoryGas(end) - highestMemCost : 0n
}

/** From the top of the stack; empty where there are too few. */
export function operands({ stack }: RunState, count: number): bigint[] {
  return stack.length < count ? [] : stack.peek(count)
}
