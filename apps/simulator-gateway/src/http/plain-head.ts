/** What is to be known of the head of a plain request. */
export interface PlainHead {
  /** Bytes of the body, at least one. */
  contentLength: number
  /** The caller's `x-request-id`, whatever it holds. */
  requestId: string | undefined
  /** This request is the connection's last. */
  close: boolean
}

const START = 'POST / HTTP/1.1\r\n'
const END = '\r\n\r\n'
const MOST_HEADERS = 64
/** RFC 9110, 5.1 and 5.5, without what is obsolete. */
const NAME = /^[!#$%&'*+.^_`|~\w-]+$/
const VALUE = /^[\t\x20-\x7e]*$/
const LENGTH = /^[1-9]\d{0,8}$/
const JSON_TYPE = /^application\/json(?:; ?charset=utf-8)?$/i

/** Headers that change what a request is, or who may read its answer. */
const NOT_PLAIN = new Set(['content-encoding', 'expect', 'origin', 'transfer-encoding', 'upgrade'])
/** Headers that matter here: of each, one at most. */
const MATTERS = new Set(['connection', 'content-length', 'content-type', 'host', 'x-request-id'])

/**
 * Reads the head, its last empty line included, of a `POST /` with a JSON body of known length.
 * @returns undefined for all others, and wherever anything is unusual: to refuse, too, is left to a whole HTTP parser
 */
export function readPlainHead(text: string): PlainHead | undefined {
  if (!text.startsWith(START) || !text.endsWith(END)) return undefined
  const lines = text.slice(START.length, -END.length).split('\r\n', MOST_HEADERS + 1)
  if (lines.length > MOST_HEADERS) return undefined
  const headers = new Map<string, string>()
  for (const line of lines) {
    const colon = line.indexOf(':')
    const name = line.slice(0, colon).toLowerCase()
    const value = line.slice(colon + 1)
    if (colon < 1 || !NAME.test(name) || !VALUE.test(value)) return undefined
    if (NOT_PLAIN.has(name) || headers.has(name)) return undefined
    if (MATTERS.has(name)) headers.set(name, value.trim())
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
