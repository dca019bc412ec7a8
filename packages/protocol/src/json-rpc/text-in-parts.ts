import type { Parts } from '../parts.js'

const PART_BYTES = 1_048_576

/** The text of UTF-8, so many bytes at a time: `toString`, wherever it is cut. */
export function* textInParts(bytes: Buffer, partBytes = PART_BYTES): Parts<string> {
  let text = ''
  for (let from = 0; from < bytes.length; ) {
    const to = endOfCharacter(bytes, from + partBytes)
    text += bytes.toString('utf8', from, to)
    from = to
    yield
  }
  return text
}

/** Where the character ends that the byte before `at` belongs to. A character has at most three bytes after its first. */
function endOfCharacter(bytes: Buffer, at: number): number {
  let end = at
  while (end < at + 3 && (bytes[end] ?? 0) >> 6 === 0b10) end += 1
  return Math.min(end, bytes.length)
}
