import type { BlockHeader } from '@upfront/protocol'

/** The pace is learnt from this many heads, or from those of `REMEMBERED_MS` if that is more: timestamps are whole seconds. */
const MIN_REMEMBERED = 16
const REMEMBERED_MS = 8_000
/** If `REMEMBERED_MS` holds more heads than this, no head is trusted without asking. */
const MAX_REMEMBERED = 64
/** Assumed until two heads were seen. */
const UNKNOWN_INTERVAL_MS = 1_000
const MIN_INTERVAL_MS = 50
/** Bounds on the time between two requests for a head that is due. */
const MIN_STEP_MS = 20
const MAX_STEP_MS = 2_000
/** Fewest heads and milliseconds before a chain may count as regular. */
const HEADS_OF_REGULAR = 9
const MIN_REGULAR_MS = 7_000
/** Bounds on a single block interval, as fractions of the mean. */
const MIN_PART = 0.7
const GREATEST_PART = 1.4
/** Timestamps are whole seconds, rounded down. */
const TIMESTAMP_SLACK_MS = 1_100

type Numbered = Pick<BlockHeader, 'number' | 'timestamp'>

interface Seen {
  number: bigint
  timestamp: bigint
  at: number
  /** Time at which the previous head was still the head. */
  notBefore: number
}

/** The block interval of a chain, learnt from when its heads were seen. Times are milliseconds of one clock. */
export class Pace {
  readonly #seen: Seen[] = []
  #isRegular = false

  /**
   * Reports a head that was seen; repeats are ignored. A lower head (a reorganisation) starts over.
   * @param notBefore when the previous head was last known to be the head; this one was made later
   */
  note({ number, timestamp }: Numbered, at: number, notBefore = at): void {
    const last = this.#seen.at(-1)
    if (last?.number === number && last.timestamp === timestamp) return
    if (last !== undefined && number <= last.number) this.#seen.length = 0
    this.#seen.push({ number, timestamp, at, notBefore })
    while (this.#remembersTooMany(at)) this.#seen.shift()
    this.#isRegular = isRegular(this.#seen)
  }

  /** Milliseconds between blocks, as learnt; undefined until two heads were seen. */
  get learntMs(): number | undefined {
    const first = this.#seen[0]
    const last = this.#seen.at(-1)
    if (first === undefined || last === undefined || first === last) return undefined
    return Math.max(MIN_INTERVAL_MS, perBlock(first, last))
  }

  /** {@link learntMs}, or a second until it is known. */
  get intervalMs(): number {
    return this.learntMs ?? UNKNOWN_INTERVAL_MS
  }

  /** How long after the newest head the next one is overdue, if a node announces heads. */
  get overdueMs(): number {
    return 1.15 * this.intervalMs + 150
  }

  /**
   * Until when the newest head is certainly still the head, even if no node announces heads. Undefined on a chain without a regular pace,
   * such as a development chain that makes a block per transaction.
   */
  get trustedUntil(): number | undefined {
    if (!this.#isRegular) return undefined
    return this.#seen.at(-1)!.notBefore + 0.9 * this.intervalMs
  }

  /**
   * When to ask for the next head: first when the newest is no longer trusted, then at growing intervals.
   * @param now the current time
   */
  nextPollAt(now: number): number {
    const last = this.#seen.at(-1)
    if (last === undefined) return now + UNKNOWN_INTERVAL_MS
    const due = last.notBefore + 0.9 * this.intervalMs
    return due > now ? due : now + Math.min(MAX_STEP_MS, Math.max(MIN_STEP_MS, (now - last.at) / 20))
  }

  #remembersTooMany(now: number): boolean {
    const { length } = this.#seen
    return length > MAX_REMEMBERED || (length > MIN_REMEMBERED && now - this.#seen[1]!.at >= REMEMBERED_MS)
  }
}

function isRegular(seen: readonly Seen[]): boolean {
  const first = seen[0]
  const last = seen.at(-1)
  if (first === undefined || last === undefined || seen.length < HEADS_OF_REGULAR) return false
  const wallMs = last.at - first.at
  if (wallMs < MIN_REGULAR_MS) return false
  const chainMs = 1_000 * Number(last.timestamp - first.timestamp)
  if (Math.abs(chainMs - wallMs) > TIMESTAMP_SLACK_MS + 0.05 * wallMs) return false
  const mean = perBlock(first, last)
  return seen.every((each, index) => {
    const before = seen[index - 1]
    if (before === undefined) return true
    const part = perBlock(before, each) / mean
    return part > MIN_PART && part < GREATEST_PART
  })
}

function perBlock(from: Seen, to: Seen): number {
  return (to.at - from.at) / Number(to.number - from.number)
}
