import { Pool } from 'undici'
import { UpstreamFault } from './upstream-fault.js'

/** After this, larger batches are tried anew: finding out costs one request, a bad moment taken for a limit costs many. */
const FINDING_LASTS_MS = 60_000
/** A finding that may as well have been a bad moment. */
const SUSPICION_LASTS_MS = 10_000
const LEADING_WHITESPACE_LIMIT = 65_536

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
  async post(body: string, limits: { maxBytes: number; timeoutMs: number; signal?: AbortSignal }): Promise<string> {
    limits.signal?.throwIfAborted()
    const attempt = new AbortController()
    let timedOut = false
    const timer = setTimeout(() => {
      timedOut = true
      attempt.abort()
    }, limits.timeoutMs)
    const onAbort = () => attempt.abort()
    limits.signal?.addEventListener('abort', onAbort, { once: true })
    try {
      const response = await this.#pool.request({
        method: 'POST',
        path: this.#path,
        headers: this.#headers,
        body,
        signal: attempt.signal,
        headersTimeout: 0,
        bodyTimeout: 0,
      })
      const text = this.#withoutSecrets(await readBounded(response.body, limits.maxBytes))
      const status = response.statusCode
      if (status >= 300 && !mayHoldAnswer(status, text)) {
        const retryAfter = parseRetryAfter(response.headers['retry-after'])
        throw new UpstreamFault('http-status', `HTTP ${status}`, {
          status,
          ...(retryAfter === undefined ? {} : { retryAfter }),
        })
      }
      return text
    } catch (error) {
      if (error instanceof UpstreamFault) throw error
      limits.signal?.throwIfAborted()
      if (timedOut) throw new UpstreamFault('timeout', `no answer within ${limits.timeoutMs} ms`)
      throw new UpstreamFault('connection', connectionProblem(error))
    } finally {
      clearTimeout(timer)
      limits.signal?.removeEventListener('abort', onAbort)
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

async function readBounded(body: AsyncIterable<Buffer>, maxBytes: number): Promise<string> {
  const chunks: Buffer[] = []
  let length = 0
  let blank = true
  for await (const chunk of body) {
    length += chunk.length
    blank &&= isBlank(chunk)
    if (length > maxBytes) throw new UpstreamFault('too-large', `more than ${maxBytes} bytes`)
    if (blank && length > LEADING_WHITESPACE_LIMIT) throw new UpstreamFault('not-json', 'nothing but whitespace')
    chunks.push(chunk)
  }
  return chunks.length === 1 ? chunks[0]!.toString() : Buffer.concat(chunks, length).toString()
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
