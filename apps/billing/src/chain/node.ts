import { setTimeout as sleep } from 'node:timers/promises'
import type { Hex } from '@upfront/protocol'
import { BaseError, createClient, HttpRequestError, http, type RpcError } from 'viem'

/** The node did not answer, or answered that it can't now (429, 5xx, time-out, rate limit): nothing is known. */
export class NodeFault extends Error {
  override readonly name = 'NodeFault'
}

/** The node understood and said no. */
export class NodeRefusal extends Error {
  override readonly name: string = 'NodeRefusal'
  constructor(
    message: string,
    readonly code: number,
  ) {
    super(message)
  }
}

/** The call or the estimated transaction reverted. */
export class Revert extends NodeRefusal {
  override readonly name = 'Revert'
  constructor(
    message: string,
    code: number,
    readonly data: Hex,
  ) {
    super(message, code)
  }
}

const RETRY_DELAYS_MILLISECONDS = [60, 250, 700]
/** EIP-1474's limit exceeded, QuickNode's and Alchemy's rate limits. */
const RATE_LIMIT_CODES = new Set([-32005, -32007, -32097, 429])

type Request = (request: { method: string; params: unknown[] }) => Promise<unknown>

/** JSON-RPC to one node. Every request has a time-out, is repeated on a fault, and fails with one of three errors above. */
export class Node {
  readonly #request: Request

  constructor(
    url: string,
    timeoutMilliseconds: number,
    private readonly onFault: (method: string) => void = () => {},
  ) {
    // viem's own retries obey any Retry-After, however long.
    const client = createClient({ transport: http(url, { retryCount: 0, timeout: timeoutMilliseconds }) })
    this.#request = client.request as Request
  }

  /** Safe for every method that billing uses: sending the same raw transaction again changes nothing. */
  async request<T>(method: string, params: unknown[]): Promise<T> {
    for (const delay of RETRY_DELAYS_MILLISECONDS) {
      try {
        return await this.once<T>(method, params)
      } catch (error) {
        if (!(error instanceof NodeFault)) throw error
        await sleep(delay)
      }
    }
    return this.once<T>(method, params)
  }

  async once<T>(method: string, params: unknown[]): Promise<T> {
    try {
      return (await this.#request({ method, params })) as T
    } catch (error) {
      const classified = classify(error, method)
      if (classified instanceof NodeFault) this.onFault(method)
      throw classified
    }
  }
}

function classify(error: unknown, method: string): NodeFault | NodeRefusal {
  if (!(error instanceof BaseError))
    return new NodeFault(`${method}: ${error instanceof Error ? error.name : 'failed'}`)
  if (error.walk((cause) => cause instanceof HttpRequestError) !== null) {
    const status = (error.walk((cause) => cause instanceof HttpRequestError) as HttpRequestError).status
    return new NodeFault(`${method}: ${status === undefined ? 'no answer' : `HTTP ${status}`}`)
  }
  const answered = error.walk(
    (cause) => cause instanceof BaseError && cause.name === 'RpcRequestError',
  ) as RpcError | null
  if (answered === null) return new NodeFault(`${method}: ${error.name}`)
  const message = answered.details.split('\n', 1)[0]?.slice(0, 300) ?? ''
  const data = (answered as { data?: unknown }).data
  if (answered.code === 3 || /execution reverted|revert/i.test(message)) {
    return new Revert(message, answered.code, typeof data === 'string' && data.startsWith('0x') ? (data as Hex) : '0x')
  }
  if (RATE_LIMIT_CODES.has(answered.code) || /rate limit|too many|header not found|overloaded/i.test(message)) {
    return new NodeFault(`${method}: ${message}`)
  }
  return new NodeRefusal(message, answered.code)
}
