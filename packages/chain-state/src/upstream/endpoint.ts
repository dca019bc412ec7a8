import type { CancelSignal } from '@upfront/simulation'
import { type Dispatcher, Pool } from 'undici'
import { UpstreamFault } from './upstream-fault.js'

/** After this, larger batches are tried anew: finding out costs one request, a bad moment taken for a limit costs many. */
const FINDING_LASTS_MS = 60_000
/** A finding that may as well have been a bad moment. */
const SUSPICION_LASTS_MS = 10_000
const LEADING_WHITESPACE_LIMIT = 65_536

interface PostLimits {
  maxBytes: number
  timeoutMs: number
  signal?: CancelSignal | undefined
}

/** One node behind one URL: its connections, and what was found out about it. */
export class Endpoint {
  /** Host and port: what messages and metrics may show. Paths and user info often hold keys. */
  readonly label: string
  /** Requests go elsewhere until then, if there is an elsewhere (`performance.now()`). */
  restingUntil = 0
  readonly #pool: Pool
  readonly #path: string
  readonly #headers: Record<string, string>
  readonly #secrets: readonly string[]
  readonly #largestBatch: number
  #batchLimit: number
  #batchLimitUntil = 0
  #failedBatches = 0

  constructor(url: URL, options: { connections: number; maxBatch: number }) {
    this.label = url.host
    this.#path = `${url.pathname}${url.search}`
    this.#headers = { 'content-type': 'application/json', accept: 'application/json' }
    if (url.username !== '' || url.password !== '') {
      const userInfo = `${decodeURIComponent(url.username)}:${decodeURIComponent(url.password)}`
      this.#headers.authorization = `Basic ${Buffer.from(userInfo).toString('base64')}`
    }
    this.#pool = new Pool(url.origin, { connections: options.connections, connect: { timeout: 3_000 } })
    this.#secrets = secretsOf(url)
    this.#largestBatch = options.maxBatch
    this.#batchLimit = options.maxBatch
  }

  /**
   * One HTTP exchange. Reads at most `maxBytes`, and no more than 64 KiB of leading whitespace.
   * @throws UpstreamFault, or the signal's reason
   */
  async post(body: string, limits: PostLimits): Promise<string> {
    const { signal, timeoutMs } = limits
    signal?.throwIfAborted()
    const exchange = new Exchange(limits.maxBytes)
    const timer = setTimeout(() => {
      exchange.end(new UpstreamFault('timeout', `no answer within ${timeoutMs} ms`))
    }, timeoutMs)
    const onAbort = () => exchange.end(signal?.reason)
    signal?.addEventListener('abort', onAbort, { once: true })
    try {
      this.#pool.dispatch(
        { method: 'POST', path: this.#path, headers: this.#headers, body, headersTimeout: 0, bodyTimeout: 0 },
        exchange,
      )
      const response = await exchange.response
      const text = this.#withoutSecrets(response.text)
      if (response.status >= 300 && !mayHoldAnswer(response.status, text)) {
        const retryAfter = parseRetryAfter(response.headers['retry-after'])
        throw new UpstreamFault('http-status', `HTTP ${response.status}`, {
          status: response.status,
          ...(retryAfter === undefined ? {} : { retryAfter }),
        })
      }
      return text
    } finally {
      clearTimeout(timer)
      signal?.removeEventListener('abort', onAbort)
    }
  }

  /** How many calls one HTTP request may hold. */
  get batchLimit(): number {
    if (performance.now() > this.#batchLimitUntil) this.#batchLimit = this.#largestBatch
    return this.#batchLimit
  }

  /** The node refused a batch, or answered part of it. True where this is news. */
  limitBatches(limit: number): boolean {
    const news = limit < this.batchLimit
    if (news) this.#batchLimit = limit
    this.#batchLimitUntil = performance.now() + FINDING_LASTS_MS
    return news
  }

  /** A batch failed in a way that may be the node's way of refusing it. */
  batchFailed(size: number): void {
    this.#failedBatches += 1
    if (this.#failedBatches < 2) return
    this.#batchLimit = Math.min(this.batchLimit, Math.max(1, Math.floor(size / 10)))
    this.#batchLimitUntil = Math.max(this.#batchLimitUntil, performance.now() + SUSPICION_LASTS_MS)
  }

  batchSucceeded(): void {
    this.#failedBatches = 0
  }

  /** Nodes like to quote the key in their errors, and clients are shown those. */
  #withoutSecrets(text: string): string {
    return this.#secrets.reduce((shown, secret) => shown.replaceAll(secret, '…'), text)
  }

  async close(): Promise<void> {
    await this.#pool.destroy()
  }
}

/** Parts of a URL that may be keys, if they are long enough not to be words that an answer has anyhow. */
function secretsOf(url: URL): string[] {
  const parts = [...url.pathname.split('/'), ...url.searchParams.values(), url.username, url.password]
  return [...new Set(parts.flatMap((part) => [part, decodeURIComponent(part)]))].filter(({ length }) => length >= 12)
}

interface Response {
  status: number
  headers: Dispatcher.ResponseData['headers']
  text: string
}

/**
 * One request and its response, read up to a bound. Undici's own `request` costs three times as much: its streams and signals
 * are for bodies that don't fit into memory.
 */
class Exchange implements Dispatcher.DispatchHandler {
  readonly response: Promise<Response>
  readonly #resolve: (response: Response) => void
  readonly #reject: (reason: unknown) => void
  readonly #maxBytes: number
  #ended: { reason: unknown } | undefined
  #controller: Dispatcher.DispatchController | undefined
  #status = 0
  #headers: Response['headers'] = {}
  readonly #chunks: Buffer[] = []
  #length = 0
  #blank = true

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes
    let settle: [(response: Response) => void, (reason: unknown) => void] | undefined
    this.response = new Promise((resolve, reject) => {
      settle = [resolve, reject]
    })
    ;[this.#resolve, this.#reject] = settle as NonNullable<typeof settle>
  }

  /** Gives the request up. */
  end(reason: unknown): void {
    if (this.#ended !== undefined) return
    this.#ended = { reason }
    this.#reject(reason)
    this.#controller?.abort(new Error('given up'))
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller
    if (this.#ended !== undefined) controller.abort(new Error('given up'))
  }

  onResponseStart(_: Dispatcher.DispatchController, status: number, headers: Response['headers']): void {
    this.#status = status
    this.#headers = headers
  }

  onResponseData(_: Dispatcher.DispatchController, chunk: Buffer): void {
    this.#length += chunk.length
    this.#blank &&= isBlank(chunk)
    if (this.#length > this.#maxBytes) {
      this.end(new UpstreamFault('too-large', `more than ${this.#maxBytes} bytes`))
    } else if (this.#blank && this.#length > LEADING_WHITESPACE_LIMIT) {
      this.end(new UpstreamFault('not-json', 'nothing but whitespace'))
    } else {
      this.#chunks.push(chunk)
    }
  }

  onResponseEnd(): void {
    const [only = Buffer.alloc(0)] = this.#chunks
    const body = this.#chunks.length <= 1 ? only : Buffer.concat(this.#chunks, this.#length)
    this.#resolve({ status: this.#status, headers: this.#headers, text: body.toString() })
  }

  onResponseError(_: Dispatcher.DispatchController, error: Error): void {
    this.end(new UpstreamFault('connection', connectionProblem(error)))
  }
}

function isBlank(chunk: Buffer): boolean {
  for (const byte of chunk) if (byte !== 0x20 && byte !== 0x0a && byte !== 0x0d && byte !== 0x09) return false
  return true
}

/** Some nodes send JSON-RPC errors under 4xx. 429 and 5xx stay what they are: reasons to come again. */
function mayHoldAnswer(status: number, text: string): boolean {
  return status >= 400 && status < 500 && status !== 429 && /^\s*[[{]/.test(text) && text.includes('"jsonrpc"')
}

function parseRetryAfter(header: string | string[] | undefined): number | undefined {
  if (typeof header !== 'string') return undefined
  const milliseconds = /^\d+(\.\d+)?$/.test(header) ? Number(header) * 1_000 : Date.parse(header) - Date.now()
  return Number.isFinite(milliseconds) && milliseconds > 0 ? milliseconds : undefined
}

function connectionProblem(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? String(error.code) : undefined
  return code === undefined ? 'connection failed' : `connection failed (${code})`
}
