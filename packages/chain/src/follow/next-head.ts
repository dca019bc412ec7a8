import type { Pace } from './pace.js'

/** Most and fewest announcements that the next one is predicted from. */
const REMEMBERED = 9
const MIN_REMEMBERED = 6
/** How far their predictions may be apart, as a fraction of the block interval. */
const MAX_SPREAD = 0.5
/** How much earlier to ask after a block that was there, and later after one that was not, as fractions of a round trip. */
const LEAD_INCREASE = 1 / 40
const LEAD_DECREASE = 16 / 40
/** How long after its expected announcement a block is requested at the latest, as a fraction of the block interval. */
const MIN_PART = 0.25
/** After this many misses in a row, the next request is 64 blocks later. */
const MAX_MISSES = 7
/** The longest wait for an answer: this many round trips plus `MIN_TIMEOUT_MS`. */
const MAX_ROUND_TRIPS = 3
const MIN_TIMEOUT_MS = 50

/** Schedules requests for the next block to reach the node just after the block is made. Times are milliseconds of one clock. */
export class NextHead {
  readonly #pace: Pace
  #announcements: { number: bigint; at: number }[] = []
  #roundTripMs: number | undefined
  /** How long before its announcement a block is requested. Negative if announcements are uneven: then only late blocks are requested. */
  #leadMs: number | undefined
  /** Misses in a row. After n misses, the next request is at least 2^(n-1) blocks later. */
  #misses = 0
  #pausedUntil = 0n
  /** The block scheduled to be requested. */
  #scheduled: bigint | undefined

  constructor(pace: Pace) {
    this.#pace = pace
  }

  /** Reports that a node announced this block. A lower number than before starts over. */
  noteAnnounced(number: bigint, at: number): void {
    const last = this.#announcements.at(-1)
    if (last !== undefined && number === last.number) return
    if (number === this.#scheduled) this.#adjustLead(LEAD_INCREASE)
    if (last !== undefined && number < last.number) {
      this.#announcements = []
      this.#pausedUntil = 0n
    }
    this.#announcements.push({ number, at })
    if (this.#announcements.length > REMEMBERED) this.#announcements.shift()
  }

  /** Reports how long the node took to return a block. */
  noteRoundTrip(milliseconds: number): void {
    this.#roundTripMs = this.#roundTripMs === undefined ? milliseconds : 0.8 * this.#roundTripMs + 0.2 * milliseconds
    // Announcements take about half a round trip, so a request sent that much earlier arrives when the block exists.
    this.#leadMs ??= milliseconds / 2
  }

  /** Reports that the block scheduled by {@link askAt} is being requested. */
  noteRequested(): void {
    this.#scheduled = undefined
  }

  /** Reports whether the requested block was there. */
  noteAnswer(number: bigint, isThere: boolean): void {
    this.#adjustLead(isThere ? LEAD_INCREASE : -LEAD_DECREASE)
    this.#misses = isThere ? 0 : Math.min(this.#misses + 1, MAX_MISSES)
    if (!isThere) this.#pausedUntil = number + 2n ** BigInt(this.#misses - 1)
  }

  /** How long to wait for a block that was requested; undefined until it is known how long that takes. */
  get timeoutMs(): number | undefined {
    return this.#roundTripMs === undefined ? undefined : MIN_TIMEOUT_MS + MAX_ROUND_TRIPS * this.#roundTripMs
  }

  /** When to request this block; undefined if its parent is not the last announced, announcements are few or irregular, or after misses. */
  askAt(number: bigint): number | undefined {
    const last = this.#announcements.at(-1)
    const interval = this.#pace.learntMs
    if (interval === undefined || this.#leadMs === undefined || last?.number !== number - 1n) return undefined
    if (this.#announcements.length < MIN_REMEMBERED || number < this.#pausedUntil) return undefined
    const foretold = this.#announcements
      .map((told) => told.at + Number(number - told.number) * interval)
      .sort((a, b) => a - b)
    if (foretold.at(-1)! - foretold[0]! > MAX_SPREAD * interval) return undefined
    this.#scheduled = number
    // Better late than too early. The latest prediction is ignored: a single late announcement says nothing.
    return Math.max(foretold.at(-2)! - this.#leadMs, last.at)
  }

  #adjustLead(trips: number): void {
    if (this.#roundTripMs === undefined || this.#leadMs === undefined) return
    const least = -MIN_PART * this.#pace.intervalMs
    this.#leadMs = Math.min(Math.max(least, this.#leadMs + trips * this.#roundTripMs), 2 * this.#roundTripMs)
  }
}
