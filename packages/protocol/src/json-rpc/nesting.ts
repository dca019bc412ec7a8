import { ErrorCode, RpcError } from '../rpc-error.js'

/** Bounds on what `JSON.parse` may build. 30 MB of brackets would take a gigabyte. */
export interface JsonBounds {
  depth: number
  /** Members and elements in total. */
  values: number
}

/** Shorter bodies can't nest deeply enough to matter and are not checked. */
const HARMLESS_LENGTH = 4096

const QUOTE = 0x22
const BACKSLASH = 0x5c
const OPEN_ARRAY = 0x5b
const CLOSE_ARRAY = 0x5d
const OPEN_OBJECT = 0x7b
const CLOSE_OBJECT = 0x7d
const COMMA = 0x2c

/** The bound that a JSON text exceeds, judged by its brackets and commas alone. Linear; skips strings. */
export function boundExceeded(text: string, bounds: JsonBounds): keyof JsonBounds | undefined {
  if (text.length < HARMLESS_LENGTH) return undefined
  let [depth, values] = [0, 0]
  for (let i = 0; i < text.length; i++) {
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
  return values > bounds.values ? 'values' : undefined
}

/** @throws RpcError -32600 */
export function refuseExceeded(exceeded: keyof JsonBounds, bounds: JsonBounds): never {
  throw invalidRequest(
    exceeded === 'depth'
      ? `the body nests deeper than ${bounds.depth} levels`
      : `the body holds more than ${bounds.values} values`,
  )
}

/** @throws RpcError -32600 */
export function refusePlain(most: number): never {
  throw invalidRequest(`the body has a name, a number or blanks of more than ${most} characters`)
}

export function invalidRequest(message: string): RpcError {
  return new RpcError(ErrorCode.invalidRequest, message)
}

/** Index of the closing quote of the string that starts at `from`; the text's length if there is none. */
function endOfString(text: string, from: number): number {
  for (let end = text.indexOf('"', from); end !== -1; end = text.indexOf('"', end + 1)) {
    let backslashes = 0
    while (end - 1 - backslashes >= from && text.charCodeAt(end - 1 - backslashes) === BACKSLASH) backslashes++
    if (backslashes % 2 === 0) return end
  }
  return text.length
}
