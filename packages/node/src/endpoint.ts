import { Pool } from 'undici'
import { Circuit, type CircuitState } from './circuit.js'
import { Latencies } from './latencies.js'
import { type PostLimits, post } from './post.js'
import { Secrets } from './secrets.js'
import { UpstreamFault } from './upstream-fault.js'

/** After this time larger batches are tried again. Trying costs one request; taking a temporary failure for a limit costs many. */
const FINDING_LASTS_MS = 60_000
/** For failures that may have been temporary. */
const SUSPICION_LASTS_MS = 10_000
const CONNECT_TIMEOUT_MS = 3_000

/** One node behind one URL: its connections, and what was found out about it. */
export class Endpoint {
  /** Host and port: what messages and metrics may show. Paths, queries and user info often hold keys. */
  readonly label: string
  /** Parts of the URL that no message may show. */
  readonly secrets: Secrets
  /** While it is not closed, requests go to another endpoint, if there is one. */
  readonly circuit: Circuit
  /** Why the node's heads are not used, as `HeadAgreement` of `@upfront/chain` finds: requests go to another endpoint too. */
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
   * The text that the node answers to one HTTP request.
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

  /** What is under way fails. */
  close(): Promise<void> {
    return this.#pool.destroy()
  }
}

/** Some nodes send JSON-RPC errors under 4xx. 429 and 5xx mean: try again. */
function mayHoldAnswer(status: number, text: string): boolean {
  return status >= 400 && status < 500 && status !== 429 && /^\s*[[{]/.test(text) && text.includes('"jsonrpc"')
}

/** Milliseconds. */
function parseRetryAfter(header: string | undefined): number | undefined {
  if (header === undefined) return undefined
  const milliseconds = /^\d+(\.\d+)?$/.test(header) ? Number(header) * 1_000 : Date.parse(header) - Date.now()
  return Number.isFinite(milliseconds) && milliseconds > 0 ? milliseconds : undefined
}
