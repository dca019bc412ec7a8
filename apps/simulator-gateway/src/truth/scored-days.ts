import type { Hash } from '@upfront/protocol'
import type { TruthCounts } from '@upfront/receipt'
import { LRUCache } from 'lru-cache'
import { type Explanation, isExplained, type Part } from './explanation.js'

/** A prediction that was wrong. */
export interface Miss extends Explanation {
  transaction: Hash
  /** Number of the block that it was mined in, and of the one that it was predicted in. */
  block: string
  predictedIn: string
  seen: 'waiting' | 'underConstruction'
  differs: Part[]
  /** How status or transfers differ, in words. */
  effect?: string
  /** Decimal. */
  gas: { predicted: string; mined: string }
}

interface Judged {
  day: string
  miss: Miss | undefined
}

/** Judged transactions that are kept. */
const MOST_JUDGED = 10_000
const MOST_DAYS = 7
/** Of a day's misses, that are listed: the newest. */
export const MOST_MISSES = 1_000

/** What became of predictions, by the day (UTC) on which their transactions were mined; the last ten thousand one by one. */
export class ScoredDays {
  readonly #days = new LRUCache<string, TruthCounts>({ max: MOST_DAYS })
  readonly #judged = new LRUCache<Hash, Judged>({ max: MOST_JUDGED })

  count(what: 'seen' | 'predicted', day = today()): void {
    this.#of(day)[what] += 1
  }

  /** Once more where a reorganisation had it mined again: the last time counts. */
  judge(transaction: Hash, miss: Miss | undefined, day = today()): void {
    const before = this.#judged.get(transaction)
    if (before !== undefined) add(this.#of(before.day), before.miss, -1)
    this.#judged.set(transaction, { day, miss })
    add(this.#of(day), miss, 1)
  }

  /** Undefined for a day of which nothing is kept. */
  of(day: string): (TruthCounts & { misses: Miss[] }) | undefined {
    const counts = this.#days.get(day)
    if (counts === undefined) return undefined
    const misses: Miss[] = []
    for (const judged of this.#judged.rvalues())
      if (judged?.day === day && judged.miss !== undefined) misses.push(judged.miss)
    return { ...counts, misses: misses.slice(-MOST_MISSES) }
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

/** Such as `2026-11-24`. */
export function today(): string {
  return new Date().toISOString().slice(0, 10)
}

function add(counts: TruthCounts, miss: Miss | undefined, by: 1 | -1): void {
  counts.judged += by
  if (miss === undefined) counts.hits += by
  else if (isExplained(miss.why)) counts.explained += by
}
