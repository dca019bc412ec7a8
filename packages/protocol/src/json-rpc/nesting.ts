import type { Parts } from '../parts.js'

/** What `JSON.parse` may be asked to build. A body of 30 MB of brackets would take a gigabyte. */
export interface JsonBounds {
  depth: number
  /** Members and elements together. */
  values: number
}

/** Bodies shorter than this can't nest deeply enough to hurt, and are not looked at. */
const HARMLESS_LENGTH = 4096

const QUOTE = 0x22
const BACKSLASH = 0x5c
const OPEN_ARRAY = 0x5b
const CLOSE_ARRAY = 0x5d
const OPEN_OBJECT = 0x7b
const CLOSE_OBJECT = 0x7d
const COMMA = 0x2c

/** Which bound a JSON text passes, looking only at its brackets and commas. Linear; strings are jumped over. */
export function boundExceeded(text: string, bounds: JsonBounds): keyof JsonBounds | undefined {
  if (text.length < HARMLESS_LENGTH) return undefined
  return scan(text, bounds, { at: 0, depth: 0, values: 0 }, text.length)
}

/** `boundExceeded`, so many characters at a time; a string counts as one. */
export function* boundExceededInParts(
  text: string,
  bounds: JsonBounds,
  partLength: number,
): Parts<keyof JsonBounds | undefined> {
  const passed = { at: 0, depth: 0, values: 0 }
  while (passed.at < text.length) {
    const exceeded = scan(text, bounds, passed, passed.at + partLength)
    if (exceeded !== undefined) return exceeded
    yield
  }
  return undefined
}

/** What was scanned of a text. */
interface Passed {
  at: number
  depth: number
  values: number
}

function scan(text: string, bounds: JsonBounds, passed: Passed, until: number): keyof JsonBounds | undefined {
  let { depth, values } = passed
  const end = Math.min(until, text.length)
  let i = passed.at
  for (; i < end; i++) {
    const code = text.charCodeAt(i)
    if (code === QUOTE) {
      i = endOfString(text, i + 1)
    } else if (code === OPEN_ARRAY || code === OPEN_OBJECT) {
      values++
      if (++depth > bounds.depth) return 'depth'
    } else if (code === CLOSE_ARRAY || code === CLOSE_OBJECT) {
      depth--
    } else if (code === COMMA && ++values > bounds.values) {
      return 'values'
    }
  }
  passed.at = i
  passed.depth = depth
  passed.values = values
  return values > bounds.values ? 'values' : undefined
}

/** Index of the quote that ends the string whose first character is at `from`; the text's length where none does. */
export function endOfString(text: string, from: number): number {
  for (let end = text.indexOf('"', from); end !== -1; end = text.indexOf('"', end + 1)) {
    let backslashes = 0
    while (end - 1 - backslashes >= from && text.charCodeAt(end - 1 - backslashes) === BACKSLASH) backslashes++
    if (backslashes % 2 === 0) return end
  }
  return text.length
}
