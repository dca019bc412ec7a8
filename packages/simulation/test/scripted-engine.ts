import type { Hash } from '@upfront/protocol'
import {
  type Answer,
  type Engine,
  readKey,
  type StatePoint,
  type StateRead,
  type StateValue,
  type Step,
} from '../src/index.js'

const NOTHING: Answer = { pieces: ['[]'], failures: [], gasUsed: 0n, touched: { accounts: 0, slots: 0 }, records: [] }

/** An engine that executes nothing: for any plan, it reads and keeps what its script lists. */
export class ScriptedEngine implements Engine {
  readonly name = 'portable'
  readonly version = '0'
  /** What each plan reads, one batch after another. */
  script: readonly (readonly StateRead[])[] = []
  /** The reads that plans lacked, one entry per step. */
  readonly lacked: (readonly StateRead[])[] = []
  /** Number of reads of a batch that are certainly needed. */
  certain = Number.POSITIVE_INFINITY
  abandoned = 0
  readonly #states = new Map<Hash, Map<string, StateValue>>()

  begin(_plan: unknown, at: StatePoint): Step<Answer> {
    return this.#goOn([...this.script], at)
  }

  missing(key: Hash, reads: readonly StateRead[]): StateRead[] {
    return reads.filter((read) => !this.#states.get(key)?.has(readKey(read)))
  }

  known(key: Hash, reads: readonly StateRead[]): (StateValue | undefined)[] {
    return reads.map((read) => this.#states.get(key)?.get(readKey(read)))
  }

  provide(key: Hash, reads: readonly StateRead[], values: readonly StateValue[]): void {
    const state = this.#states.get(key) ?? new Map<string, StateValue>()
    this.#states.set(key, state)
    for (const [index, read] of reads.entries()) state.set(readKey(read), values[index]!)
  }

  close(): Promise<void> {
    return Promise.resolve()
  }

  #goOn(left: (readonly StateRead[])[], at: StatePoint): Step<Answer> {
    for (let batch = left.shift(); batch !== undefined; batch = left.shift()) {
      const reads = this.missing(at.key, batch)
      if (reads.length === 0) continue
      this.lacked.push(reads)
      return {
        kind: 'lacking',
        reads,
        certain: Math.min(this.certain, reads.length),
        resume: (values) => {
          this.provide(at.key, reads, values)
          return this.#goOn(left, at)
        },
        abandon: () => {
          this.abandoned += 1
        },
      }
    }
    return { kind: 'done', outcome: NOTHING }
  }
}
