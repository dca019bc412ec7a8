/** JSON as a string, or as UTF-8 bytes if long, so that the garbage collector need not move it. */
export type JsonText = string | Buffer

/** Joins the parts in order: to a string if all are strings, otherwise to bytes. */
export function joinJson(parts: readonly JsonText[]): JsonText {
  if (parts.every((part) => typeof part === 'string')) return parts.join('')
  return Buffer.concat(parts.map((part) => (typeof part === 'string' ? Buffer.from(part) : part)))
}
