import { CallQueue, type UpstreamCall, UpstreamClient, UpstreamError, UpstreamFault } from '@upfront/node'
import { checkResult } from './check-result.js'
import { NodeBusy, NodeFault, readNodeError, WrongChain } from './node-error.js'

const ATTEMPTS = 5
const MAX_BATCH = 40
/** With this many calls waiting, no new payment is verified. Each verification makes about six calls. */
const MANY_WAITING = 1_000
/** With this many calls waiting, all further calls fail with `NodeBusy`. */
const MAX_WAITING = 2_000
/** The largest answers are logs of 2,000 blocks. */
const MAX_ANSWER_BYTES = 64 * 1024 * 1024
/** Slow methods are not batched with others: they would delay the whole batch. */
const ALONE = new Set(['eth_estimateGas', 'eth_getLogs'])
const SEND = 'eth_sendRawTransaction'
/** Methods whose result may be null. A null from any other method, or for the newest block, is a fault of the node. */
const MAY_BE_NULL = new Set([
  'eth_getBlockByNumber',
  'eth_getBlockReceipts',
  'eth_getTransactionByHash',
  'eth_getTransactionReceipt',
])

/**
 * JSON-RPC client for one node of one chain. Answers of a node on another chain are rejected. Every request has a time limit, is retried on
 * a fault, and fails with `NodeFault`, `NodeRefusal` or `Revert`.
 */
export class Node {
  readonly #client: UpstreamClient
  readonly #queue: CallQueue
  /** Transactions are not batched with reads. */
  readonly #sends: CallQueue
  readonly #onFault: (method: string) => void
  #waiting = 0

  /** @param onFault called with the method for each failed attempt */
  constructor(url: string, chainId: number, timeoutMilliseconds: number, onFault: (method: string) => void = () => {}) {
    this.#onFault = onFault
    this.#client = new UpstreamClient({
      urls: [url],
      chainId,
      attemptTimeoutMs: timeoutMilliseconds,
      callTimeoutMs: 4 * timeoutMilliseconds + 1_000,
      maxBatch: MAX_BATCH,
      observer: { onRetry: ({ method }) => onFault(method) },
    })
    this.#queue = new CallQueue(this.#client)
    this.#sends = new CallQueue(this.#client)
  }

  /** Whether new payments should be refused, so that settlements are not delayed. */
  get isBusy(): boolean {
    return this.#waiting >= MANY_WAITING
  }

  /** Safe to retry for every method that billing uses: sending the same raw transaction again changes nothing. */
  async request<T>(method: string, params: unknown[]): Promise<T> {
    if (this.#waiting >= MAX_WAITING) throw new NodeBusy()
    const isAlone = ALONE.has(method)
    const call: UpstreamCall<T> = {
      method,
      params,
      decode: (result) => {
        const mayBeNull = MAY_BE_NULL.has(method) && params[0] !== 'latest'
        if (result !== null) checkResult(method, params, result)
        else if (!mayBeNull) throw new UpstreamFault('null', 'expected a result, got null')
        return result as T
      },
      maxBytes: MAX_ANSWER_BYTES,
      attempts: ATTEMPTS,
      retriesError: ({ detail }) => readNodeError(detail.rpc, method) instanceof NodeFault,
      ...(isAlone || method === SEND ? { pace: 'slow' } : {}),
    }
    this.#waiting += 1
    const queue = method === SEND ? this.#sends : this.#queue
    const sent = isAlone ? this.#client.batch([call]) : queue.sendAll([call])
    const [outcome] = await sent.finally(() => {
      this.#waiting -= 1
    })
    if ('value' in outcome!) return outcome.value
    const error = meaningOf(outcome!.error, method)
    if (error instanceof NodeFault) this.#onFault(method)
    throw error
  }

  close(): Promise<void> {
    return this.#client.close()
  }
}

function meaningOf({ fault }: UpstreamError, method: string): Error {
  if (fault.kind === 'rpc-error') return readNodeError(fault.detail.rpc, method)
  if (fault.kind === 'wrong-chain') return new WrongChain(Number(fault.detail.chainId))
  return new NodeFault(`${method}: ${fault.message}`)
}
