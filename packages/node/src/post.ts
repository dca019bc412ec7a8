import type { Dispatcher, Pool } from 'undici'
import { type CancelSignal, onAbort } from './cancellation.js'
import { UpstreamFault } from './upstream-fault.js'

const LEADING_WHITESPACE_LIMIT = 65_536
const RESERVED_EACH = 1024 * 1024

export interface PostLimits {
  /** Most bytes of the response. */
  maxBytes: number
  timeoutMs: number
  signal?: CancelSignal | undefined
  /** Called about every MiB with the bytes to reserve in total: those read and one MiB more. @throws if no memory is left */
  reserve?(bytes: number): void
}

export interface Response {
  status: number
  retryAfter: string | undefined
  text: string
}

/**
 * One HTTP exchange. Reads at most `maxBytes`, and at most 64 KiB of leading whitespace. undici's `dispatch` is cheaper than its
 * `request`, whose streams are for bodies that don't fit into memory.
 * @throws UpstreamFault, or the signal's reason
 */
export async function post(
  pool: Pool,
  path: string,
  headers: Record<string, string>,
  body: string,
  { maxBytes, timeoutMs, signal, reserve }: PostLimits,
): Promise<Response> {
  signal?.throwIfAborted()
  const exchange = new Exchange(maxBytes, reserve)
  const late = () => exchange.end(new UpstreamFault('timeout', `no answer within ${timeoutMs} ms`))
  const timer = setTimeout(late, timeoutMs)
  const takeOff = onAbort(signal, () => exchange.end(signal?.reason))
  try {
    pool.dispatch({ method: 'POST', path, headers, body, headersTimeout: 0, bodyTimeout: 0 }, exchange)
    return await exchange.response
  } finally {
    clearTimeout(timer)
    takeOff()
  }
}

class Exchange implements Dispatcher.DispatchHandler {
  readonly response: Promise<Response>
  readonly #maxBytes: number
  readonly #reserve: PostLimits['reserve']
  #reserved = RESERVED_EACH
  #resolve!: (response: Response) => void
  #reject!: (reason: unknown) => void
  #hasEnded = false
  #controller: Dispatcher.DispatchController | undefined
  #status = 0
  #retryAfter: string | undefined
  readonly #chunks: Buffer[] = []
  #length = 0
  #blank = true

  constructor(maxBytes: number, reserve: PostLimits['reserve']) {
    this.#maxBytes = maxBytes
    this.#reserve = reserve
    this.response = new Promise((resolve, reject) => {
      this.#resolve = resolve
      this.#reject = reject
    })
  }

  /** Aborts the request. If it still waits for a connection, it is never sent. */
  end(reason: unknown): void {
    if (this.#hasEnded) return
    this.#hasEnded = true
    this.#reject(reason)
    this.#controller?.abort(new Error('given up'))
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller
    if (this.#hasEnded) controller.abort(new Error('given up'))
  }

  onResponseStart(_: Dispatcher.DispatchController, status: number, headers: Dispatcher.ResponseData['headers']): void {
    const retryAfter = headers['retry-after']
    this.#status = status
    this.#retryAfter = typeof retryAfter === 'string' ? retryAfter : undefined
  }

  onResponseData(_: Dispatcher.DispatchController, chunk: Buffer): void {
    this.#length += chunk.length
    this.#blank &&= isBlank(chunk)
    if (this.#length > this.#maxBytes) this.end(new UpstreamFault('too-large', `more than ${this.#maxBytes} bytes`))
    else if (this.#blank && this.#length > LEADING_WHITESPACE_LIMIT)
      this.end(new UpstreamFault('not-json', 'nothing but whitespace'))
    else if (this.#isReserved()) this.#chunks.push(chunk)
  }

  /** Reserves memory stepwise for what was read. @returns false if the request was aborted for lack of memory */
  #isReserved(): boolean {
    if (this.#length <= this.#reserved) return true
    try {
      this.#reserved = this.#length + RESERVED_EACH
      this.#reserve?.(this.#reserved)
      return true
    } catch (error) {
      this.end(error)
      return false
    }
  }

  onResponseEnd(): void {
    this.#hasEnded = true
    const [only] = this.#chunks
    const bytes = this.#chunks.length === 1 ? only! : Buffer.concat(this.#chunks, this.#length)
    this.#resolve({ status: this.#status, retryAfter: this.#retryAfter, text: bytes.toString() })
  }

  onResponseError(_: Dispatcher.DispatchController, error: Error): void {
    const code = 'code' in error ? ` (${error.code})` : ''
    this.end(new UpstreamFault('connection', `connection failed${code}`))
  }
}

function isBlank(chunk: Buffer): boolean {
  for (const byte of chunk) if (byte !== 0x20 && byte !== 0x0a && byte !== 0x0d && byte !== 0x09) return false
  return true
}
