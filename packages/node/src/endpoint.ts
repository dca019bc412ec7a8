import { type Dispatcher, Pool } from 'undici'
import type { CancelSignal } from './cancellation.js'
import { deadline, met } from './deadline.js'
import { BoundedExchange, type Exchange } from './exchange.js'
import { PlainHttp } from './plain-http.js'
import { UpstreamFault } from './upstream-fault.js'

/** After this, larger batches are tried anew: finding out costs one request, a bad moment taken for a limit costs many. */
const FINDING_LASTS_MS = 60_000
/** A finding that may as well have been a bad moment. */
const SUSPICION_LASTS_MS = 10_000

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
  /** For `http:` alone. */
  readonly #plain: PlainHttp | undefined
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
    const { connections } = options
    this.#pool = new Pool(url.origin, { connections, connect: { timeout: 3_000 } })
    if (url.protocol === 'http:')
      this.#plain = new PlainHttp(url, this.#headers, connections, (exchange) => this.#dispatch(exchange))
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
    const exchange = new BoundedExchange(body, limits.maxBytes)
    const patience = deadline(performance.now() + timeoutMs, () =>
      exchange.end(new UpstreamFault('timeout', `no answer within ${timeoutMs} ms`)),
    )
    const onAbort = () => exchange.end(signal?.reason)
    signal?.addEventListener('abort', onAbort, { once: true })
    try {
      if (this.#plain === undefined) this.#dispatch(exchange)
      else this.#plain.exchange(exchange)
      const response = await exchange.response
      const text = this.#withoutSecrets(response.text)
      if (response.status >= 300 && !mayHoldAnswer(response.status, text)) {
        const retryAfter = parseRetryAfter(response.retryAfter)
        throw new UpstreamFault('http-status', `HTTP ${response.status}`, {
          status: response.status,
          ...(retryAfter === undefined ? {} : { retryAfter }),
        })
      }
      return text
    } finally {
      met(patience)
      signal?.removeEventListener('abort', onAbort)
    }
  }

  #dispatch(exchange: Exchange): void {
    const { body } = exchange
    this.#pool.dispatch(
      { method: 'POST', path: this.#path, headers: this.#headers, body, headersTimeout: 0, bodyTimeout: 0 },
      new DispatchedExchange(exchange),
    )
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
    this.#plain?.close()
    await this.#pool.destroy()
  }
}

/** Parts of a URL that may be keys, if they are long enough not to be words that an answer has anyhow. */
function secretsOf(url: URL): string[] {
  const parts = [...url.pathname.split('/'), ...url.searchParams.values(), url.username, url.password]
  return [...new Set(parts.flatMap((part) => [part, decodeURIComponent(part)]))].filter(({ length }) => length >= 12)
}

/**
 * An exchange by undici. Its own `request` costs three times as much as `dispatch`: its streams and signals are for bodies
 * that don't fit into memory.
 */
class DispatchedExchange implements Dispatcher.DispatchHandler {
  readonly #exchange: Exchange

  constructor(exchange: Exchange) {
    this.#exchange = exchange
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#exchange.begun(() => controller.abort(new Error('given up')))
  }

  onResponseStart(_: Dispatcher.DispatchController, status: number, headers: Dispatcher.ResponseData['headers']): void {
    const retryAfter = headers['retry-after']
    this.#exchange.head(status, typeof retryAfter === 'string' ? retryAfter : undefined)
  }

  onResponseData(_: Dispatcher.DispatchController, chunk: Buffer): void {
    this.#exchange.data(chunk)
  }

  onResponseEnd(): void {
    this.#exchange.done()
  }

  onResponseError(_: Dispatcher.DispatchController, error: Error): void {
    this.#exchange.failed(error)
  }
}

/** Some nodes send JSON-RPC errors under 4xx. 429 and 5xx stay what they are: reasons to come again. */
function mayHoldAnswer(status: number, text: string): boolean {
  return status >= 400 && status < 500 && status !== 429 && /^\s*[[{]/.test(text) && text.includes('"jsonrpc"')
}

function parseRetryAfter(header: string | undefined): number | undefined {
  if (header === undefined) return undefined
  const milliseconds = /^\d+(\.\d+)?$/.test(header) ? Number(header) * 1_000 : Date.parse(header) - Date.now()
  return Number.isFinite(milliseconds) && milliseconds > 0 ? milliseconds : undefined
}
