import { CallQueue, type UpstreamCall, UpstreamClient, UpstreamError, UpstreamFault } from '@upfront/node'
import { NodeBusy, NodeFault, readNodeError, WrongChain } from './node-error.js'

const ATTEMPTS = 5
const LARGEST_BATCH = 40
/** While so many calls wait for their answers, no further payment is looked at. Each makes about six. */
const MANY_WAITING = 1_000
/** Nor is anything else asked. */
const MOST_WAITING = 2_000
/** Logs of 2,000 blocks are the largest answer that billing asks for. */
const LARGEST_ANSWER_BYTES = 64 * 1024 * 1024
/** Slow calls would hold back the answers beside them. */
const ALONE = new Set(['eth_estimateGas', 'eth_getLogs'])
const SEND = 'eth_sendRawTransaction'
/** Null says here that there is no such thing. Of all else, the newest block too, a node that answers null has lost it. */
const MAY_BE_NULL = new Set([
  'eth_getBlockByNumber',
  'eth_getBlockReceipts',
  'eth_getTransactionByHash',
  'eth_getTransactionReceipt',
])

/**
 * JSON-RPC to one node of one chain. Nothing that a node of another chain answers is believed. Every request has a time limit,
 * is repeated on a fault, and fails with `NodeFault`, `NodeRefusal` or `Revert`.
 */
export class Node {
  readonly #client: UpstreamClient
  readonly #queue: CallQueue
  /** A transaction must not share the fate of reads. */
  readonly #sends: CallQueue
  readonly #onFault: (method: string) => void
  #waiting = 0

  /** @param onFault called for each attempt that failed, with the method */
  constructor(url: string, chainId: number, timeoutMilliseconds: number, onFault: (method: string) => void = () => {}) {
    this.#onFault = onFault
    this.#client = new UpstreamClient({
      urls: [url],
      chainId,
      attemptTimeoutMs: timeoutMilliseconds,
      callTimeoutMs: 4 * timeoutMilliseconds + 1_000,
      maxBatch: LARGEST_BATCH,
      observer: { onRetry: ({ method }) => onFault(method) },
    })
    this.#queue = new CallQueue(this.#client)
    this.#sends = new CallQueue(this.#client)
  }

  /** Whether so many calls wait that what is to be settled should not wait behind more. */
  get isBusy(): boolean {
    return this.#waiting >= MANY_WAITING
  }

  /** Safe for every method that billing uses: sending the same raw transaction again changes nothing. */
  async request<T>(method: string, params: unknown[]): Promise<T> {
    if (this.#waiting >= MOST_WAITING) throw new NodeBusy()
    const isAlone = ALONE.has(method)
    const call: UpstreamCall<T> = {
      method,
      params,
      decode: (result) => {
        const mayBeNull = MAY_BE_NULL.has(method) && params[0] !== 'latest'
        if (result === null && !mayBeNull) throw new UpstreamFault('null', 'expected a result, got null')
        return result as T
      },
      maxBytes: LARGEST_ANSWER_BYTES,
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
