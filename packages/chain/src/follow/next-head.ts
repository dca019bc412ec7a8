import type { Pace } from './pace.js'

/** Announcements that the next one is foretold by, and how many it takes. */
const REMEMBERED = 9
const LEAST_REMEMBERED = 6
/** So far they may be from where the pace has them, as a part of the time between blocks. */
const MOST_SPREAD = 0.5
/** How much sooner to ask after a block that was there, and how much later after one that was not, as parts of a round trip. */
const SOONER = 1 / 40
const LATER = 16 / 40
/** So much later than its announcement is expected a block is asked for at most, as a part of the time between blocks. */
const LEAST_PART = 0.25
/** Then 64 blocks are waited for. */
const MOST_IN_VAIN = 7
/** A question is waited for no longer than so many round trips, and a few milliseconds. */
const MOST_TRIPS = 3
const LEAST_PATIENCE_MS = 50

/** When to ask for the block after the head, so that the question reaches the node just after the block is made. Times are milliseconds of one clock. */
export class NextHead {
  readonly #pace: Pace
  #told: { number: bigint; at: number }[] = []
  #tripMs: number | undefined
  /** How long before its announcement a block is asked for; below 0, where announcements are uneven, only one that is late is. */
  #leadMs: number | undefined
  /** How often in a row a block was asked for in vain: after the second time one block is left out, after each further one twice as many. */
  #vain = 0
  #restsUntil = 0n
  /** The block that is to be asked for. */
  #planned: bigint | undefined

  constructor(pace: Pace) {
    this.#pace = pace
  }

  /** A node announced this block. One that goes back begins anew. */
  noteTold(number: bigint, at: number): void {
    const last = this.#told.at(-1)
    if (last !== undefined && number === last.number) return
    if (number === this.#planned) this.#lead(SOONER)
    if (last !== undefined && number < last.number) {
      this.#told = []
      this.#restsUntil = 0n
    }
    this.#told.push({ number, at })
    if (this.#told.length > REMEMBERED) this.#told.shift()
  }

  /** How long the node took to give a block. */
  noteTrip(milliseconds: number): void {
    this.#tripMs = this.#tripMs === undefined ? milliseconds : 0.8 * this.#tripMs + 0.2 * milliseconds
    // Announcements take about half of that: so soon a block is there when the question comes.
    this.#leadMs ??= milliseconds / 2
  }

  /** The block that `askAt` was for is asked for now. */
  noteAsked(): void {
    this.#planned = undefined
  }

  /** Whether the block that was asked for was there. */
  noteAnswer(number: bigint, isThere: boolean): void {
    this.#lead(isThere ? SOONER : -LATER)
    this.#vain = isThere ? 0 : Math.min(this.#vain + 1, MOST_IN_VAIN)
    if (!isThere) this.#restsUntil = number + 2n ** BigInt(this.#vain - 1)
  }

  get patienceMs(): number {
    return LEAST_PATIENCE_MS + MOST_TRIPS * (this.#tripMs ?? 0)
  }

  /** When to ask for the block of this number; undefined where nobody announced the one before it, or announcements come at no fixed pace. */
  askAt(number: bigint): number | undefined {
    const last = this.#told.at(-1)
    const interval = this.#pace.learntMs
    if (interval === undefined || this.#leadMs === undefined || last?.number !== number - 1n) return undefined
    if (this.#told.length < LEAST_REMEMBERED || number < this.#restsUntil) return undefined
    const foretold = this.#told.map((told) => told.at + Number(number - told.number) * interval).sort((a, b) => a - b)
    if (foretold.at(-1)! - foretold[0]! > MOST_SPREAD * interval) return undefined
    this.#planned = number
    // Late rather than in vain: but one announcement that came late by itself says nothing.
    return Math.max(foretold.at(-2)! - this.#leadMs, last.at)
  }

  #lead(trips: number): void {
    if (this.#tripMs === undefined || this.#leadMs === undefined) return
    const least = -LEAST_PART * this.#pace.intervalMs
    this.#leadMs = Math.min(Math.max(least, this.#leadMs + trips * this.#tripMs), 2 * this.#tripMs)
  }
}
