/** The parts of a plain request's head that matter here. */
export interface PlainHead {
  /** Length of the body in bytes, at least 1. */
  contentLength: number
  /** The caller's `x-request-id`, unchecked. */
  requestId: string | undefined
  /** The client asks to close the connection after the answer. */
  close: boolean
}

const START = 'POST / HTTP/1.1\r\n'
const END = '\r\n\r\n'
const MAX_HEADERS = 64
/** Header names and values by RFC 9110, 5.1 and 5.5, without tabs and non-ASCII bytes: requests with those are left to Node. */
const NAME = /^[!#$%&'*+.^_`|~\w-]+$/
const VALUE = /^[\x20-\x7e]*$/
const LENGTH = /^[1-9]\d{0,8}$/
const JSON_TYPE = /^application\/json(?:; ?charset=utf-8)?$/i

/** Headers that change what a request means or who may read its answer. llhttp reads `proxy-connection` as `connection`. */
const NOT_PLAIN = new Set(['content-encoding', 'expect', 'origin', 'proxy-connection', 'transfer-encoding', 'upgrade'])
/** Headers that are read here. A request that repeats one is left to Node. */
const READ = new Set(['connection', 'content-length', 'content-type', 'host', 'x-request-id'])

/**
 * Reads the head of a `POST /` with a JSON body of known length.
 * @param text up to and including the empty line
 * @param leave names of headers; requests with one of them are left to Node
 * @returns undefined for every other request, valid or not: Node's parser decides about it
 */
export function readPlainHead(text: string, leave: readonly string[] = []): PlainHead | undefined {
  if (!text.startsWith(START) || !text.endsWith(END)) return undefined
  const lines = text.slice(START.length, -END.length).split('\r\n', MAX_HEADERS + 1)
  if (lines.length > MAX_HEADERS) return undefined
  const headers = new Map<string, string>()
  for (const line of lines) {
    const colon = line.indexOf(':')
    const name = line.slice(0, colon).toLowerCase()
    const value = line.slice(colon + 1)
    if (colon < 1 || !NAME.test(name) || !VALUE.test(value)) return undefined
    if (NOT_PLAIN.has(name) || leave.includes(name) || headers.has(name)) return undefined
    if (READ.has(name)) headers.set(name, value.trim())
  }
  const connection = headers.get('connection')?.toLowerCase() ?? 'keep-alive'
  const contentLength = headers.get('content-length') ?? ''
  if (!headers.has('host') || !LENGTH.test(contentLength)) return undefined
  if (!JSON_TYPE.test(headers.get('content-type') ?? '')) return undefined
  if (connection !== 'keep-alive' && connection !== 'close') return undefined
  return {
    contentLength: Number(contentLength),
    requestId: headers.get('x-request-id'),
    close: connection === 'close',
  }
}
