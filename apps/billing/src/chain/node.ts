import { setTimeout as sleep } from 'node:timers/promises'
import { Exchange, ExchangeFault } from './exchange.js'
import { NodeFault, readNodeError, WrongChain } from './node-error.js'

const RETRY_DELAYS_MILLISECONDS = [60, 250, 700]
const LARGEST_BATCH = 40
/** After a batch that failed, reads go alone for this long: not every node takes batches. */
const WITHOUT_BATCHES_MILLISECONDS = 10_000
/** Between two looks at the chain id where no batch has carried one. */
const CHAIN_ID_MAX_AGE_MILLISECONDS = 10_000
/** Slow ones would hold back the answers beside them, and a transaction should not share its fate with reads. */
const ALONE = new Set(['eth_sendRawTransaction', 'eth_estimateGas', 'eth_getLogs'])

interface Waiting {
  method: string
  params: unknown[]
  resolve: (result: unknown) => void
  reject: (error: Error) => void
}

interface Answer {
  id?: unknown
  result?: unknown
  error?: unknown
}

/**
 * JSON-RPC to one node. Reads of one turn of the event loop share an HTTP request, which asks for the chain id too: what a
 * node of another chain answers is never believed. Every request has a time-out, is repeated on a fault, and fails with
 * `NodeFault`, `NodeRefusal` or `Revert`.
 */
export class Node {
  readonly #exchange: Exchange
  #waiting: Waiting[] = []
  #batchesFrom = 0
  #chainSeenAt = Number.NEGATIVE_INFINITY

  constructor(
    url: string,
    private readonly chainId: number,
    timeoutMilliseconds: number,
    private readonly onFault: (method: string) => void = () => {},
  ) {
    this.#exchange = new Exchange(url, timeoutMilliseconds)
  }

  /** Safe for every method that billing uses: sending the same raw transaction again changes nothing. */
  async request<T>(method: string, params: unknown[]): Promise<T> {
    for (let attempt = 0; ; attempt++) {
      const together = attempt === 0 && !ALONE.has(method) && performance.now() >= this.#batchesFrom
      try {
        return (await (together ? this.#join(method, params) : this.#alone(method, params))) as T
      } catch (error) {
        const fault = error instanceof ExchangeFault ? new NodeFault(`${method}: ${error.message}`) : error
        if (!(fault instanceof NodeFault)) throw fault
        this.#chainSeenAt = Number.NEGATIVE_INFINITY
        this.onFault(method)
        const delay = RETRY_DELAYS_MILLISECONDS[attempt]
        if (fault instanceof WrongChain || delay === undefined) throw fault
        await sleep(delay)
      }
    }
  }

  close(): Promise<void> {
    return this.#exchange.close()
  }

  async #alone(method: string, params: unknown[]): Promise<unknown> {
    if (performance.now() - this.#chainSeenAt > CHAIN_ID_MAX_AGE_MILLISECONDS) {
      this.#believe((await this.#exchange.post(toMessage('eth_chainId', [], 1))) as Answer | null)
    }
    return readAnswer((await this.#exchange.post(toMessage(method, params, 1))) as Answer | null, method)
  }

  #join(method: string, params: unknown[]): Promise<unknown> {
    return new Promise((resolve, reject) => {
      if (this.#waiting.length === 0) setImmediate(() => this.#flush())
      this.#waiting.push({ method, params, resolve, reject })
    })
  }

  #flush(): void {
    const waiting = this.#waiting
    this.#waiting = []
    for (let from = 0; from < waiting.length; from += LARGEST_BATCH) {
      void this.#sendBatch(waiting.slice(from, from + LARGEST_BATCH))
    }
  }

  async #sendBatch(batch: Waiting[]): Promise<void> {
    try {
      const messages = batch.map(({ method, params }, index) => toMessage(method, params, index + 1))
      const answers = await this.#exchange.post([toMessage('eth_chainId', [], 0), ...messages])
      if (!Array.isArray(answers)) throw new ExchangeFault('no answer to a batch')
      const byId = new Map(answers.map((answer: Answer | null) => [answer?.id, answer]))
      this.#believe(byId.get(0))
      batch.forEach(({ method, resolve, reject }, index) => {
        try {
          resolve(readAnswer(byId.get(index + 1), method))
        } catch (error) {
          reject(error as Error)
        }
      })
    } catch (error) {
      this.#batchesFrom = performance.now() + WITHOUT_BATCHES_MILLISECONDS
      for (const { reject } of batch) reject(error as Error)
    }
  }

  /** Throws {@link WrongChain}. */
  #believe(answer: Answer | null | undefined): void {
    const chainId = answer?.result
    if (typeof chainId !== 'string') throw new ExchangeFault('no chain id')
    if (Number(chainId) !== this.chainId) throw new WrongChain(Number(chainId))
    this.#chainSeenAt = performance.now()
  }
}

function toMessage(method: string, params: unknown[], id: number): unknown {
  return { jsonrpc: '2.0', id, method, params }
}

function readAnswer(answer: Answer | null | undefined, method: string): unknown {
  if (typeof answer !== 'object' || answer === null) throw new ExchangeFault('no answer')
  if (answer.error !== undefined && answer.error !== null) throw readNodeError(answer.error, method)
  if (answer.result === undefined) throw new ExchangeFault('neither result nor error')
  return answer.result
}
