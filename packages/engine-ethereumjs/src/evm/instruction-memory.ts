import type { RunState } from './legacy-opcodes.js'
import { stackItems } from './opcode-table.js'

/** Stack positions of offset and length of the memory that an opcode uses; a bigint is a fixed length. */
const MEMORY_OPERANDS: Record<number, readonly (readonly [offset: number, length: number | bigint])[]> = {
  32: [[0, 1]],
  55: [[0, 2]],
  57: [[0, 2]],
  60: [[1, 3]],
  62: [[0, 2]],
  81: [[0, 32n]],
  82: [[0, 32n]],
  83: [[0, 1n]],
  94: [
    [0, 2],
    [1, 2],
  ],
  160: [[0, 1]],
  161: [[0, 1]],
  162: [[0, 1]],
  163: [[0, 1]],
  164: [[0, 1]],
  240: [[1, 2]],
  241: [
    [5, 6],
    [3, 4],
  ],
  242: [
    [5, 6],
    [3, 4],
  ],
  243: [[0, 1]],
  244: [
    [4, 5],
    [2, 3],
  ],
  245: [[1, 2]],
  250: [
    [4, 5],
    [2, 3],
  ],
  253: [[0, 1]],
}

/** The end of the memory that the instruction about to run wants, bytes. */
export function memoryEnd(frame: RunState): bigint {
  const ranges = MEMORY_OPERANDS[frame.opCode] ?? []
  const stack = operands(frame, stackItems(frame.opCode))
  let end = 0n
  for (const [offset, length] of ranges) {
    const bytes = typeof length === 'bigint' ? length : (stack[length] ?? 0n)
    const last = bytes === 0n ? 0n : (stack[offset] ?? 0n) + bytes
    if (last > end) end = last
  }
  return end
}

/** Gas that it costs to have memory up to `end`. */
export function expansionGas({ memoryWordCount, highestMemCost }: RunState, end: bigint): bigint {
  const words = wordsOf(end)
  return words > memoryWordCount ? 3n * words + (words * words) / 512n - highestMemCost : 0n
}

export function wordsOf(bytes: bigint): bigint {
  return (bytes + 31n) / 32n
}

/** From the top of the stack; empty where there are too few. */
export function operands({ stack }: RunState, count: number): bigint[] {
  return stack.length < count ? [] : stack.peek(count)
}
