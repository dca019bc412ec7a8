import type { OutgoingHttpHeaders, ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import { lowerCased, parseHeaderList, removeHeaderFromList } from './header-list.js'
import type { HttpAnswer } from './http-answer.js'
import { Mask } from './mask.js'
import { assertWritable, findHeadFault, normalizeHead } from './sendable.js'

/**
 * - `ended`: the answer is complete.
 * - `full`: it is longer than may be held; it streams on once released.
 * - `cut`: the handler destroyed its response after it had begun to write (its stream broke off).
 */
export type HeldEnd = 'ended' | 'full' | 'cut'

type Chunk = [chunk: unknown, encoding?: BufferEncoding]
type Callback = (error?: Error | null) => void

/** Size of one write of a long answer. */
const SLICE_BYTES = 256 * 1024

const HEADER_SETTERS = ['setHeader', 'setHeaders', 'appendHeader', 'removeHeader', 'addTrailers'] as const

const OF_CONNECTION = new Set(['connection', 'content-length', 'date', 'keep-alive', 'transfer-encoding'])

/**
 * Holds everything that is written to a Node response, by a framework or by hand, until it is released or replaced. To the writer the
 * response behaves as if it were being sent.
 */
export class HeldResponse {
  /** Resolves when enough of the answer is known to decide on it. Never resolves if the handler never ends. */
  readonly end: Promise<HeldEnd>
  readonly #response: ServerResponse
  readonly #holdBytes: number
  /** Headers set before the handler ran, such as security and CORS headers. */
  readonly #headersBefore: OutgoingHttpHeaders
  readonly #mask: Mask
  #chunks: Chunk[] = []
  #bytes = 0
  #head: unknown[] | undefined
  #begun = false
  #ended = false
  #cut: { error: Error | undefined } | undefined
  #wantsDrain = false
  #callbacks: Callback[] = []
  #resolveEnd!: (end: HeldEnd) => void

  /** @param headersBefore all headers set so far, including those that the framework stores itself */
  constructor(response: ServerResponse, holdBytes: number, headersBefore: OutgoingHttpHeaders) {
    this.#response = response
    this.#mask = new Mask(response)
    this.#holdBytes = holdBytes
    this.#headersBefore = { ...headersBefore }
    this.end = new Promise((resolve) => {
      this.#resolveEnd = resolve
    })
    this.#interceptWrites()
  }

  /** The error that Node would raise when sending this answer, found before it is charged; undefined if there is none. */
  get fault(): string | undefined {
    return findHeadFault(this.#head ?? [this.#response.statusCode])
  }

  /** 500 if the answer can't be sent. */
  get status(): number {
    return this.fault === undefined ? this.#response.statusCode : 500
  }

  /** True once the handler has written its last byte. */
  get ended(): boolean {
    return this.#ended
  }

  /** Bytes of the body so far. */
  get bytes(): number {
    return this.#bytes
  }

  /** Removes a header from the held answer and returns it. */
  takeHeader(name: string): string | undefined {
    const set = this.#response.getHeader(name)
    this.#response.removeHeader(name)
    const given = this.#takeFromHead(name)
    const value = given ?? set
    return value === undefined ? undefined : String(value)
  }

  getHeader(name: string): string | undefined {
    const headers = this.#headHeaders()
    const key = headers && Object.keys(headers).find((candidate) => candidate.toLowerCase() === name.toLowerCase())
    const value = key === undefined ? this.#response.getHeader(name) : headers?.[key]
    return value === undefined ? undefined : String(value)
  }

  /**
   * Sends the held answer, with these headers replacing the handler's own, and lets later writes through.
   * @returns the answer sent, or undefined if it is not complete
   */
  release(headers: Record<string, string>): HttpAnswer | undefined {
    const sent = this.copy(headers)
    this.#mask.off()
    const response = this.#response
    for (const [name, value] of Object.entries(headers)) response.setHeader(name, value)
    if (this.#head !== undefined) Reflect.apply(response.writeHead, response, this.#head)
    let flowing = true
    const isLong = this.#ended && this.#bytes > SLICE_BYTES
    const last = this.#ended && !isLong ? this.#chunks.pop() : undefined
    const chunks = this.#chunks
    this.#chunks = []
    if (isLong) {
      const isWhole = chunks.length === 1 && this.#head === undefined
      if (isWhole && !response.hasHeader('content-length')) response.setHeader('content-length', this.#bytes)
      Readable.from(splitIntoSlices(chunks), { objectMode: false }).pipe(response)
      return sent
    }
    for (const [chunk, encoding] of chunks) flowing = Reflect.apply(response.write, response, [chunk, encoding])
    if (this.#ended) Reflect.apply(response.end, response, last ?? [])
    else if (this.#cut !== undefined) this.#destroyWhenSent(this.#cut.error)
    else if (this.#begun && response.headersSent === false && this.#head === undefined) response.flushHeaders()
    if (this.#wantsDrain && flowing) response.emit('drain')
    return sent
  }

  /** The answer as `release` would send it; undefined if it is not complete. */
  copy(headers: Record<string, string>): HttpAnswer | undefined {
    for (const name of Object.keys(headers)) this.takeHeader(name)
    return this.#ended ? this.#sent(headers) : undefined
  }

  /** Sends this answer instead. Everything that the handler wrote or will write is dropped. */
  replace({ status, headers, body }: HttpAnswer): void {
    this.#mask.off()
    this.#chunks = []
    this.#ended = true
    const response = this.#response
    for (const name of response.getHeaderNames()) response.removeHeader(name)
    for (const [name, value] of Object.entries(this.#headersBefore)) {
      if (value !== undefined) response.setHeader(name, value)
    }
    for (const [name, value] of Object.entries(headers)) if (value !== undefined) response.setHeader(name, value)
    if (status !== 204 && status !== 304) response.setHeader('Content-Length', Buffer.byteLength(body))
    response.writeHead(status)
    response.end(body)
    this.#discardWrites()
    if (this.#wantsDrain) response.emit('drain')
  }

  #interceptWrites(): void {
    this.#mask.method('writeHead', (...head: unknown[]) => {
      this.#head = normalizeHead(head)
      if (typeof head[0] === 'number') this.#response.statusCode = head[0]
      this.#begin()
      return this.#response
    })
    this.#mask.method('flushHeaders', () => this.#begin())
    this.#mask.method('write', (chunk: unknown, ...rest: unknown[]) => this.#write(chunk, rest))
    this.#mask.method('end', (...rest: unknown[]) => this.#finish(rest))
    this.#mask.method('destroy', (error?: Error) => {
      if (!this.#ended && this.#cut === undefined) {
        this.#cut = { error }
        this.#resolveEnd('cut')
      }
      return this.#response
    })
    // Informational (1xx) answers could leak unpaid results, so they are dropped.
    this.#mask.method('writeEarlyHints', (_hints: unknown, callback?: Callback) => callback?.())
    this.#mask.method('writeProcessing', () => undefined)
    this.#mask.property('headersSent', () => this.#begun)
    this.#mask.property('writableEnded', () => this.#ended)
  }

  #discardWrites(): void {
    const response = this.#response
    const callbackOf = (given: unknown[]) => given.find((value) => typeof value === 'function') as Callback | undefined
    const drop = (...given: unknown[]) => {
      const callback = callbackOf(given)
      if (callback !== undefined) process.nextTick(callback)
      return response
    }
    for (const name of ['writeHead', 'end', 'flushHeaders', 'writeEarlyHints', ...HEADER_SETTERS] as const) {
      this.#mask.method(name, drop)
    }
    this.#mask.method('write', (...given: unknown[]) => {
      drop(...given)
      return true
    })
    // The handler's stream may break off after it was replaced. That must not destroy the answer sent instead.
    this.#mask.method('destroy', () => response)
    this.#mask.property('headersSent', () => true)
    this.#mask.property('writableEnded', () => true)
  }

  #begin(): void {
    this.#begun = true
    if (this.#holdBytes === 0) this.#resolveEnd('full')
  }

  #write(chunk: unknown, rest: unknown[]): boolean {
    const { encoding, callback } = writeArguments(rest)
    if (callback !== undefined) process.nextTick(callback)
    if (this.#ended || this.#cut !== undefined) return false
    this.#push(chunk, encoding)
    this.#begin()
    if (this.#bytes <= this.#holdBytes && this.#holdBytes > 0) return true
    this.#wantsDrain = true
    this.#resolveEnd('full')
    return false
  }

  #finish(given: unknown[]): ServerResponse {
    const [chunk, ...rest] = typeof given[0] === 'function' ? [undefined, given[0]] : given
    const { encoding, callback } = writeArguments(rest)
    if (this.#ended || this.#cut !== undefined) {
      if (callback !== undefined) this.#callbacks.push(callback)
      return this.#response
    }
    if (chunk !== undefined && chunk !== null) this.#push(chunk, encoding)
    else if (this.#chunks.length > 0) this.#chunks.push([Buffer.alloc(0)])
    if (callback !== undefined) this.#callbacks.push(callback)
    this.#ended = true
    this.#begun = true
    if (this.#callbacks.length > 0) this.#response.once('finish', () => this.#callbacks.forEach((call) => void call()))
    this.#resolveEnd('ended')
    return this.#response
  }

  #push(chunk: unknown, encoding: BufferEncoding | undefined): void {
    assertWritable(chunk)
    // A writer may reuse its buffer once the write callback has run.
    const kept = chunk instanceof Uint8Array ? Buffer.from(chunk) : chunk
    this.#chunks.push(encoding === undefined ? [kept] : [kept, encoding])
    this.#bytes += typeof kept === 'string' ? Buffer.byteLength(kept, encoding) : (kept as Buffer).length
  }

  #destroyWhenSent(error: Error | undefined): void {
    const response = this.#response
    response.write('', () => response.destroy(error))
  }

  /** Keeps the headers of the answer and drops those of the connection. */
  #sent(headers: Record<string, string>): HttpAnswer {
    const list = this.#head?.find((part) => Array.isArray(part)) as string[] | undefined
    const given = list === undefined ? this.#headHeaders() : parseHeaderList(list)
    const all = Object.entries({ ...this.#response.getHeaders(), ...lowerCased(given ?? {}), ...lowerCased(headers) })
    const kept = all.filter(([name]) => !OF_CONNECTION.has(name))
    const chunks = this.#chunks.map(([chunk, encoding]) =>
      typeof chunk === 'string' ? Buffer.from(chunk, encoding) : (chunk as Buffer),
    )
    return {
      status: this.status,
      headers: Object.fromEntries(kept) as OutgoingHttpHeaders,
      body: Buffer.concat(chunks),
    }
  }

  #headHeaders(): Record<string, unknown> | undefined {
    const headers = this.#head?.find((part) => typeof part === 'object' && part !== null && !Array.isArray(part))
    return headers as Record<string, unknown> | undefined
  }

  #takeFromHead(name: string): unknown {
    const wanted = name.toLowerCase()
    const list = this.#head?.find((part) => Array.isArray(part)) as unknown[] | undefined
    if (list !== undefined) return removeHeaderFromList(list, wanted)
    const headers = this.#headHeaders()
    if (headers === undefined) return undefined
    let taken: unknown
    for (const key of Object.keys(headers)) {
      if (key.toLowerCase() !== wanted) continue
      taken = headers[key]
      delete headers[key]
    }
    return taken
  }
}

/** Yields a long answer in slices, so that it is written as the client reads it. */
function* splitIntoSlices(chunks: readonly Chunk[]): Generator<Buffer> {
  for (const [chunk, encoding] of chunks) {
    const bytes = typeof chunk === 'string' ? Buffer.from(chunk, encoding) : (chunk as Buffer)
    for (let at = 0; at < bytes.length; at += SLICE_BYTES) yield bytes.subarray(at, at + SLICE_BYTES)
  }
}

function writeArguments(rest: unknown[]): { encoding: BufferEncoding | undefined; callback: Callback | undefined } {
  return {
    encoding: rest.find((value): value is BufferEncoding => typeof value === 'string'),
    callback: rest.find((value) => typeof value === 'function') as Callback | undefined,
  }
}
