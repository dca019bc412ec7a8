import type { Hash } from '@upfront/protocol'
import type { TruthCounts } from '@upfront/receipt'
import { LRUCache } from 'lru-cache'
import { type Explanation, isExplained, type Part } from './explanation.js'

/** A wrong prediction. */
export interface Miss extends Explanation {
  transaction: Hash
  /** Number of the block that mined it; `predictedIn` is the block of the prediction. */
  block: string
  predictedIn: string
  seen: 'waiting' | 'underConstruction'
  differs: Part[]
  /** The difference in status or transfers, in words. */
  effect?: string
  /** Gas used, decimal. */
  gas: { predicted: string; mined: string }
}

interface Judged {
  day: string
  miss: Miss | undefined
}

/** Judged transactions that are kept one by one. */
const MAX_JUDGED = 10_000
const MAX_DAYS = 7
/** Most misses listed per day, the newest. */
export const MAX_MISSES = 1_000

/** Outcomes of predictions by day (UTC) of mining; the latest `MAX_JUDGED` are kept one by one. */
export class ScoredDays {
  readonly #days = new LRUCache<string, TruthCounts>({ max: MAX_DAYS })
  readonly #judged = new LRUCache<Hash, Judged>({ max: MAX_JUDGED })

  count(what: 'seen' | 'predicted', day = today()): void {
    this.#of(day)[what] += 1
  }

  /** A transaction that a reorganisation mines again is judged again: the last time counts. */
  judge(transaction: Hash, miss: Miss | undefined, day = today()): void {
    const before = this.#judged.get(transaction)
    if (before !== undefined) add(this.#of(before.day), before.miss, -1)
    this.#judged.set(transaction, { day, miss })
    add(this.#of(day), miss, 1)
  }

  /** Undefined if nothing is kept of that day. */
  of(day: string): (TruthCounts & { misses: Miss[] }) | undefined {
    const counts = this.#days.get(day)
    if (counts === undefined) return undefined
    const misses: Miss[] = []
    for (const judged of this.#judged.rvalues())
      if (judged?.day === day && judged.miss !== undefined) misses.push(judged.miss)
    return { ...counts, misses: misses.slice(-MAX_MISSES) }
  }

  #of(day: string): TruthCounts {
    let counts = this.#days.get(day)
    if (counts === undefined) {
      counts = { seen: 0, predicted: 0, judged: 0, hits: 0, explained: 0 }
      this.#days.set(day, counts)
    }
    return counts
  }
}

/** The current day (UTC), such as `2026-11-24`. */
export function today(): string {
  return new Date().toISOString().slice(0, 10)
}

function add(counts: TruthCounts, miss: Miss | undefined, by: 1 | -1): void {
  counts.judged += by
  if (miss === undefined) counts.hits += by
  else if (isExplained(miss.why)) counts.explained += by
}
