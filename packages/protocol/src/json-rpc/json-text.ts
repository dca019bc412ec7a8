/** JSON as a string, or as its bytes in UTF-8: long texts as bytes, which no garbage collector has to move about. */
export type JsonText = string | Buffer

/** The parts in order: a string where all are, else bytes. */
export function joinJson(parts: readonly JsonText[]): JsonText {
  if (parts.every((part) => typeof part === 'string')) return parts.join('')
  return Buffer.concat(parts.map((part) => (typeof part === 'string' ? Buffer.from(part) : part)))
}
