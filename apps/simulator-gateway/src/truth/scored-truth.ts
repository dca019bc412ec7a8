import cluster from 'node:cluster'
import { randomUUID } from 'node:crypto'
import { Injectable, type OnApplicationShutdown } from '@nestjs/common'
import { decodeWaitingCalls, ErrorCode, type Hash, RpcError } from '@upfront/protocol'
import type { TruthCounts } from '@upfront/receipt'
import type { ShownFact } from '@upfront/simulation'
import { WaitingTransactions } from '../pending/waiting-transactions.js'
import type { Miss } from './scored-days.js'

export type ScoredDay = TruthCounts & { misses: Miss[] }

/** What became of predictions, whichever of `GATEWAY_WORKERS` processes made them. */
export abstract class ScoredTruth {
  /**
   * Undefined for a day of which nothing is kept.
   * @throws or rejects with RpcError (HTTP 503) where the process that scores does not answer
   */
  abstract of(day: string): Promise<ScoredDay | undefined>
}

/** A transaction that waits, as the node has it, with what it changes; or one that waits no longer. */
export type WaitingNews = { hash: Hash; call: object; changes: ShownFact[] } | { hash: Hash }

/** Between the processes; the first passes them on. */
export type TruthMessage =
  | { kind: 'truthAsked'; id: string; from: number; day: string }
  | { kind: 'truthTold'; id: string; to: number; found: ScoredDay | null }
  | { kind: 'waiting'; news: WaitingNews }

/** Place of the worker that scores for all. */
export const SCORER = 1
const TIMEOUT_MS = 2_000

/** This process among `GATEWAY_WORKERS`, from 1; undefined where it is the only one. */
export function placeOfWorker(): number | undefined {
  return cluster.isWorker ? Number(process.env.GATEWAY_WORKER) : undefined
}

export function keepWaiting(waiting: WaitingTransactions, news: WaitingNews): void {
  const [call] = 'call' in news ? decodeWaitingCalls([news.call], 'waiting').calls : []
  if (!('call' in news)) waiting.remove(news.hash)
  else if (call !== undefined) waiting.add(news.hash, call, news.changes)
}

/** What another process scores: its days are asked for, and transactions that it sees waiting are kept here too. */
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
        reject(new RpcError(ErrorCode.serverError, 'the process that scores is not there', undefined, 503))
      }
      const timer = setTimeout(late, TIMEOUT_MS)
      this.#asked.set(id, (found) => {
        clearTimeout(timer)
        this.#asked.delete(id)
        resolve(found ?? undefined)
      })
      process.send?.({ kind: 'truthAsked', id, from: placeOfWorker()!, day } satisfies TruthMessage)
    })
  }
}
