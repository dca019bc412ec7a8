const HEAD_MOST = 16_384
const LINE_MOST = 256
const END_OF_HEAD = '\r\n\r\n'
const STATUS = /^HTTP\/1\.1 ([2-5]\d\d)(?: |$)/
/** Folded lines and lone line ends. */
const UNUSUAL_LINES = /\r\n[ \t]|[^\r]\n|\r(?!\n)/
const CHUNK_SIZE = /^([0-9a-f]{1,8})[ \t]*(?:;.*)?$/i
const BODILESS = new Set([204, 205, 304])

/** Takes a response in as it comes. */
export interface ResponseTaker {
  head(status: number, retryAfter: string | undefined): void
  data(chunk: Buffer): void
}

/** `odd` before anything was handed on: another HTTP client may make sense of it. `broken` after. */
export type Progress = 'more' | 'done' | 'odd' | 'broken'

/** One HTTP/1.1 response as nodes send it, of a known length or in chunks. It is no HTTP parser: all else is odd. */
export class PlainResponse {
  /** Whether the connection can be used again. */
  keepsAlive = true
  readonly #taker: ResponseTaker
  #part: 'head' | 'counted' | 'size' | 'chunk' | 'chunk-end' | 'trailer' = 'head'
  /** The start of a head or of a line that came in part. */
  #text = ''
  /** Bytes of the body or of the chunk that are still to come. */
  #left = 0

  constructor(taker: ResponseTaker) {
    this.#taker = taker
  }

  /** Whether any of it came. */
  get begun(): boolean {
    return this.#part !== 'head' || this.#text !== ''
  }

  take(bytes: Buffer): Progress {
    let at = 0
    if (this.#part === 'head') {
      const end = this.#headEnd(bytes)
      if (end === undefined) return this.#text.length > HEAD_MOST ? 'odd' : 'more'
      if (!this.#readHead()) return 'odd'
      at = end
    }
    return this.#part === 'counted' ? this.#takeCounted(bytes, at) : this.#takeChunks(bytes, at)
  }

  /** Where the body starts in `bytes`; the whole head is in `#text` then. */
  #headEnd(bytes: Buffer): number | undefined {
    const before = this.#text.length
    if (before === 0) {
      const end = bytes.indexOf(END_OF_HEAD, 0, 'latin1')
      this.#text = bytes.toString('latin1', 0, end < 0 ? Math.min(bytes.length, HEAD_MOST + 1) : end)
      return end < 0 ? undefined : end + END_OF_HEAD.length
    }
    this.#text += bytes.toString('latin1', 0, Math.min(bytes.length, HEAD_MOST + 1))
    const end = this.#text.indexOf(END_OF_HEAD, Math.max(0, before - END_OF_HEAD.length))
    if (end < 0) return undefined
    this.#text = this.#text.slice(0, end)
    return end + END_OF_HEAD.length - before
  }

  #readHead(): boolean {
    const head = this.#text
    this.#text = ''
    const lines = head.split('\r\n')
    const status = Number(STATUS.exec(lines[0]!)?.[1])
    if (Number.isNaN(status) || BODILESS.has(status) || UNUSUAL_LINES.test(head)) return false
    let length: number | undefined
    let isChunked = false
    let retryAfter: string | undefined
    for (let line = 1; line < lines.length; line += 1) {
      const field = lines[line]!
      const colon = field.indexOf(':')
      if (colon < 0) return false
      const value = field.slice(colon + 1).trim()
      const said = value.toLowerCase()
      switch (field.slice(0, colon).toLowerCase()) {
        case 'content-length':
          if (length !== undefined || !/^\d{1,15}$/.test(said)) return false
          length = Number(said)
          break
        case 'transfer-encoding':
          if (isChunked || said !== 'chunked') return false
          isChunked = true
          break
        case 'content-encoding':
          if (said !== 'identity') return false
          break
        case 'connection':
          if (said !== 'keep-alive' && said !== 'close') return false
          this.keepsAlive &&= said === 'keep-alive'
          break
        case 'retry-after':
          retryAfter = value
      }
    }
    if (isChunked === (length !== undefined)) return false
    this.#part = isChunked ? 'size' : 'counted'
    this.#left = length ?? 0
    this.#taker.head(status, retryAfter)
    return true
  }

  #takeCounted(bytes: Buffer, at: number): Progress {
    const end = at + this.#left
    if (bytes.length > end) this.keepsAlive = false
    const taken = Math.min(bytes.length, end)
    this.#left = end - taken
    if (taken > at) this.#taker.data(bytes.subarray(at, taken))
    return this.#left === 0 ? 'done' : 'more'
  }

  #takeChunks(bytes: Buffer, from: number): Progress {
    let at = from
    while (at < bytes.length) {
      if (this.#part === 'chunk') {
        const end = Math.min(bytes.length, at + this.#left)
        this.#taker.data(bytes.subarray(at, end))
        this.#left -= end - at
        at = end
        if (this.#left === 0) this.#part = 'chunk-end'
        continue
      }
      const end = bytes.indexOf('\n', at, 'latin1')
      const stop = end < 0 ? bytes.length : end + 1
      this.#text += bytes.toString('latin1', at, Math.min(stop, at + LINE_MOST + 1))
      if (this.#text.length > LINE_MOST) return 'broken'
      if (end < 0) return 'more'
      at = stop
      if (!this.#text.endsWith('\r\n')) return 'broken'
      const line = this.#text.slice(0, -2)
      this.#text = ''
      const isLast = this.#part === 'trailer' && line === ''
      if (!isLast && !this.#takeLine(line)) return 'broken'
      if (!isLast) continue
      if (at < bytes.length) this.keepsAlive = false
      return 'done'
    }
    return 'more'
  }

  #takeLine(line: string): boolean {
    if (this.#part === 'chunk-end') {
      this.#part = 'size'
      return line === ''
    }
    if (this.#part === 'trailer') return true
    const [, size] = CHUNK_SIZE.exec(line) ?? []
    if (size === undefined) return false
    this.#left = Number.parseInt(size, 16)
    this.#part = this.#left === 0 ? 'trailer' : 'chunk'
    return true
  }
}
