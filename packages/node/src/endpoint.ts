import { Pool } from 'undici'
import { Circuit, type CircuitState } from './circuit.js'
import { Latencies } from './latencies.js'
import { type PostLimits, post } from './post.js'
import { Secrets } from './secrets.js'
import { UpstreamFault } from './upstream-fault.js'

/** After this time larger batches are tried again. A try costs one request; mistaking a temporary failure for a limit costs many. */
const FINDING_LASTS_MS = 60_000
/** Like {@link FINDING_LASTS_MS}, for failures that may be temporary. */
const SUSPICION_LASTS_MS = 10_000
const CONNECT_TIMEOUT_MS = 3_000

/** One node behind one URL: its connections and what was learnt about it. */
export class Endpoint {
  /** Host and port: all that messages and metrics may show. Paths, queries and user info often contain keys. */
  readonly label: string
  /** Parts of the URL that must not appear in messages. */
  readonly secrets: Secrets
  /** Unless it is closed, requests go to another endpoint, if there is one. */
  readonly circuit: Circuit
  /** Why `HeadAgreement` of `@upfront/chain` excludes this node, if it does. Requests then go to another endpoint too. */
  strays: string | undefined
  readonly latencies = new Latencies()
  readonly #pool: Pool
  readonly #path: string
  readonly #headers: Record<string, string>
  readonly #largestBatch: number
  #batchLimit: number
  #batchLimitUntil = 0
  #failedBatches = 0

  constructor(
    url: URL,
    options: { connections: number; maxBatch: number; onCircuit?: (upstream: string, state: CircuitState) => void },
  ) {
    this.label = url.host
    this.circuit = new Circuit((state) => options.onCircuit?.(this.label, state))
    this.secrets = new Secrets(url)
    this.#path = `${url.pathname}${url.search}`
    this.#headers = { 'content-type': 'application/json', accept: 'application/json' }
    if (url.username !== '' || url.password !== '') {
      const userInfo = `${decodeURIComponent(url.username)}:${decodeURIComponent(url.password)}`
      this.#headers.authorization = `Basic ${Buffer.from(userInfo).toString('base64')}`
    }
    this.#pool = new Pool(url.origin, {
      connections: options.connections,
      connect: { timeout: CONNECT_TIMEOUT_MS },
    })
    this.#largestBatch = options.maxBatch
    this.#batchLimit = options.maxBatch
  }

  /**
   * Sends one HTTP request and returns the text of its response.
   * @throws UpstreamFault, or the signal's reason
   */
  async post(body: string, limits: PostLimits): Promise<string> {
    const { status, text, ...response } = await post(this.#pool, this.#path, this.#headers, body, limits)
    if (status < 300 || mayHoldAnswer(status, text)) return text
    const retryAfter = parseRetryAfter(response.retryAfter)
    throw new UpstreamFault('http-status', `HTTP ${status}`, {
      status,
      ...(retryAfter === undefined ? {} : { retryAfter }),
    })
  }

  /** Most calls in one HTTP request. */
  get batchLimit(): number {
    if (performance.now() > this.#batchLimitUntil) this.#batchLimit = this.#largestBatch
    return this.#batchLimit
  }

  /** The node refused a batch or answered only part of it. @returns whether the limit is new */
  limitBatches(limit: number): boolean {
    const news = limit < this.batchLimit
    if (news) this.#batchLimit = limit
    this.#batchLimitUntil = performance.now() + FINDING_LASTS_MS
    return news
  }

  /** A batch failed in a way that may mean that the node refuses it. */
  batchFailed(size: number): void {
    this.#failedBatches += 1
    if (this.#failedBatches < 2) return
    this.#batchLimit = Math.min(this.batchLimit, Math.max(1, Math.floor(size / 10)))
    this.#batchLimitUntil = Math.max(this.#batchLimitUntil, performance.now() + SUSPICION_LASTS_MS)
  }

  batchSucceeded(): void {
    this.#failedBatches = 0
  }

  /** Fails all requests in flight. */
  close(): Promise<void> {
    return this.#pool.destroy()
  }
}

/** Some nodes send JSON-RPC errors with a 4xx status. 429 and 5xx mean: try again. */
function mayHoldAnswer(status: number, text: string): boolean {
  return status >= 400 && status < 500 && status !== 429 && /^\s*[[{]/.test(text) && text.includes('"jsonrpc"')
}

/** @returns milliseconds */
function parseRetryAfter(header: string | undefined): number | undefined {
  if (header === undefined) return undefined
  const milliseconds = /^\d+(\.\d+)?$/.test(header) ? Number(header) * 1_000 : Date.parse(header) - Date.now()
  return Number.isFinite(milliseconds) && milliseconds > 0 ? milliseconds : undefined
}
