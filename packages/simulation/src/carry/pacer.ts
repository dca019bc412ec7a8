import type { CarryPace } from './carry-event.js'

/** Consecutive slow or useless blocks after which the pace slows down. */
const STREAK = 8
/** Consecutive quick blocks after which it speeds up. */
const RECOVERED = 64
/** How long `off` lasts. */
const OFF_MS = 300_000

/** Decides which blocks are carried, by how long carrying takes. */
export class Pacer {
  pace: CarryPace = 'each'
  readonly #onPace: (pace: CarryPace, reason: string) => void
  #bad = 0
  #good = 0
  #tried = -1n
  #offUntil = 0

  constructor(onPace: (pace: CarryPace, reason: string) => void) {
    this.#onPace = onPace
  }

  /** Whether to carry this block. Counts it as tried. */
  allows(number: bigint, now = performance.now()): boolean {
    if (this.pace === 'distrusted') return false
    if (this.pace === 'off') {
      if (now < this.#offUntil) return false
      this.#set('everySecond', 'tried again')
    }
    if (this.pace === 'everySecond' && number === this.#tried + 1n) return false
    this.#tried = number
    return true
  }

  /** Records a carried block. @param intervalMs between the chain's blocks */
  noteCarried(tookMs: number, intervalMs: number): void {
    if (tookMs > intervalMs / 2) {
      this.noteUseless(`${Math.round(tookMs)} ms of the ${Math.round(intervalMs)} between blocks`)
      return
    }
    this.#bad = 0
    this.#good++
    if (this.pace === 'everySecond' && this.#good >= RECOVERED) this.#set('each', 'quick enough again')
  }

  /** Records a block whose execution was useless or too slow. */
  noteUseless(reason: string): void {
    this.#good = 0
    this.#bad++
    if (this.#bad < STREAK || this.pace === 'distrusted') return
    if (this.pace === 'everySecond') this.#offUntil = performance.now() + OFF_MS
    this.#set(this.pace === 'each' ? 'everySecond' : 'off', reason)
  }

  distrust(): void {
    this.pace = 'distrusted'
  }

  #set(pace: CarryPace, reason: string): void {
    this.pace = pace
    this.#bad = 0
    this.#good = 0
    this.#onPace(pace, reason)
  }
}
