import cluster from 'node:cluster'
import { randomUUID } from 'node:crypto'
import { Injectable, type OnApplicationShutdown } from '@nestjs/common'
import { decodeWaitingCalls, ErrorCode, type Hash, RpcError } from '@upfront/protocol'
import type { TruthCounts } from '@upfront/receipt'
import type { ShownFact } from '@upfront/simulation'
import { WaitingTransactions } from '../pending/waiting-transactions.js'
import type { Miss } from './scored-days.js'

export type ScoredDay = TruthCounts & { misses: Miss[] }

/** The scores of predictions, whichever worker process keeps them. */
export abstract class ScoredTruth {
  /**
   * A day's scores; undefined if nothing is kept of that day.
   * @throws RpcError (HTTP 503) if the scoring process does not answer
   */
  abstract of(day: string): Promise<ScoredDay | undefined>
}

/** A pending transaction in the node's format with the state that it changes, or one that is no longer pending. */
export type WaitingNews = { hash: Hash; call: object; changes: ShownFact[] } | { hash: Hash }

/** Messages between worker processes; the primary forwards them. */
export type TruthMessage =
  | { kind: 'truthAsked'; id: string; from: number; day: string }
  | { kind: 'truthTold'; id: string; to: number; found: ScoredDay | null }
  | { kind: 'waiting'; news: WaitingNews }

/** Number of the worker that scores for all. */
export const SCORER = 1
const TIMEOUT_MS = 2_000

/** Number of this process among `GATEWAY_WORKERS`, from 1; undefined if it is the only one. */
export function workerNumber(): number | undefined {
  return cluster.isWorker ? Number(process.env.GATEWAY_WORKER) : undefined
}

export function keepWaiting(waiting: WaitingTransactions, news: WaitingNews): void {
  const [call] = 'call' in news ? decodeWaitingCalls([news.call], 'waiting').calls : []
  if (!('call' in news)) waiting.remove(news.hash)
  else if (call !== undefined) waiting.add(news.hash, call, news.changes)
}

/** The truth in workers that don't score: asks the scorer for its days, and keeps the pending transactions that it reports. */
@Injectable()
export class TruthOfScorer extends ScoredTruth implements OnApplicationShutdown {
  readonly #asked = new Map<string, (found: ScoredDay | null) => void>()
  readonly #hear: (message: TruthMessage) => void

  constructor(waiting: WaitingTransactions) {
    super()
    this.#hear = (message) => {
      if (message.kind === 'waiting') keepWaiting(waiting, message.news)
      if (message.kind === 'truthTold') this.#asked.get(message.id)?.(message.found)
    }
    process.on('message', this.#hear)
  }

  onApplicationShutdown(): void {
    process.off('message', this.#hear)
  }

  override of(day: string): Promise<ScoredDay | undefined> {
    const id = randomUUID()
    return new Promise((resolve, reject) => {
      const late = () => {
        this.#asked.delete(id)
        reject(new RpcError(ErrorCode.serverError, 'the scoring process is not running', undefined, 503))
      }
      const timer = setTimeout(late, TIMEOUT_MS)
      this.#asked.set(id, (found) => {
        clearTimeout(timer)
        this.#asked.delete(id)
        resolve(found ?? undefined)
      })
      process.send?.({ kind: 'truthAsked', id, from: workerNumber()!, day } satisfies TruthMessage)
    })
  }
}
