import { type Cancellation, onAbort } from '@upfront/node'
import { ClientGone } from './client-gone.js'
import { Overloaded } from './overloaded.js'

/** Who a turn is for. */
export interface Client {
  /** An address, a network or a payer. */
  name: string
  /** Whoever pays goes before all that do not. */
  pays: boolean
}

/** So many are let in however short memory is. */
const NARROWEST = 2

interface Waiting {
  enter(): void
  refuse(error: Error): void
}

/** What waits, by client: first those whose turn is nearest. */
type Line = Map<string, Set<Waiting>>

/**
 * At most `maxInFlight` requests at a time; `maxQueued` more wait. A client may hold as many slots as are free beside them, so that
 * others always find one. Turns go to who holds the fewest; a client's own requests wait behind each other. Where too many wait,
 * those of the client with the most are refused.
 */
export class RequestQueue {
  #running = 0
  /** At most `maxInFlight`; fewer while memory is short. */
  #allowed: number
  #queued = 0
  /** Slots in use, by client. */
  readonly #held = new Map<string, number>()
  readonly #paid: Line = new Map()
  readonly #free: Line = new Map()

  constructor(
    private readonly maxInFlight: number,
    private readonly maxQueued: number,
    /** So many are let in at first, and more while memory is seen to suffice. */
    private readonly atFirst = maxInFlight,
  ) {
    this.#allowed = Math.min(atFirst, maxInFlight)
  }

  get inFlight(): number {
    return this.#running
  }

  get queued(): number {
    return this.#queued
  }

  /** Lets half as many in at a time as are there now. */
  narrow(): void {
    this.#allowed = Math.max(
      Math.min(NARROWEST, this.maxInFlight),
      Math.floor(Math.min(this.#allowed, this.#running) / 2),
    )
  }

  /** Lets as many in at a time as at first. */
  settle(): void {
    this.#allowed = Math.min(this.atFirst, this.maxInFlight)
    if (this.#queued > 0) this.#admit()
  }

  /** Lets one more in at a time, up to `maxInFlight`. */
  widen(): void {
    if (this.#allowed === this.maxInFlight) return
    this.#allowed += 1
    if (this.#queued > 0) this.#admit()
  }

  /**
   * Returns undefined where there is room, else a promise that resolves with the turn. Call `leave` once for each turn.
   * @throws Overloaded where too many wait. Rejects with Overloaded when the signal aborts or the turn is given up for another
   * client's, with ClientGone if that is the signal's reason
   */
  enter(client: Client, cancellation: Cancellation): Promise<void> | undefined {
    const { name, pays } = client
    if (this.#mayHoldMore(name)) {
      this.#hold(name)
      return undefined
    }
    if (this.#queued >= this.maxQueued) this.#makeRoom(client)
    const line = pays ? this.#paid : this.#free
    const { signal } = cancellation
    return new Promise((resolve, reject) => {
      const end = () => {
        takeOff()
        this.#remove(line, name, turn)
      }
      const turn: Waiting = {
        enter: () => {
          end()
          this.#hold(name)
          resolve()
        },
        refuse: (error) => {
          end()
          reject(error)
        },
      }
      const waiting = line.get(name) ?? new Set()
      line.set(name, waiting.add(turn))
      this.#queued += 1
      const takeOff = onAbort(signal, () =>
        turn.refuse(
          signal.reason instanceof ClientGone
            ? signal.reason
            : new Overloaded('the request waited too long for its turn'),
        ),
      )
    })
  }

  leave({ name }: Client): void {
    this.#running -= 1
    const held = (this.#held.get(name) ?? 1) - 1
    if (held === 0) this.#held.delete(name)
    else this.#held.set(name, held)
    if (this.#queued > 0) this.#admit()
  }

  #mayHoldMore(name: string): boolean {
    return (this.#held.get(name) ?? 0) < this.#allowed - this.#running
  }

  #hold(name: string): void {
    this.#running += 1
    this.#held.set(name, (this.#held.get(name) ?? 0) + 1)
  }

  #admit(): void {
    for (let next = this.#next(); next !== undefined; next = this.#next()) next.enter()
  }

  #next(): Waiting | undefined {
    for (const line of [this.#paid, this.#free]) {
      const name = lowest(line, (candidate) => this.#held.get(candidate) ?? 0)
      if (name === undefined || !this.#mayHoldMore(name)) continue
      const waiting = line.get(name)!
      // Among clients that hold equally many, the next turn is another's.
      line.delete(name)
      line.set(name, waiting)
      const [first] = waiting
      return first
    }
    return undefined
  }

  /**
   * Refuses the newest of the client with the most: a free one for whoever pays, else only one that has more than this client.
   * @throws Overloaded where there is none
   */
  #makeRoom({ name, pays }: Client): void {
    const isServedBefore = pays && this.#free.size > 0
    const line = pays && !isServedBefore ? this.#paid : this.#free
    const most = lowest(line, (_, waiting) => -waiting.size)
    const waiting = [...(line.get(most ?? '') ?? [])]
    const newest = waiting.at(-1)
    const hasMore = isServedBefore || waiting.length > (line.get(name)?.size ?? 0) + 1
    if (newest === undefined || !hasMore) throw this.#full()
    newest.refuse(this.#full())
  }

  #full(): Overloaded {
    return new Overloaded(`too many requests at once (${this.maxInFlight} in flight, ${this.maxQueued} waiting)`)
  }

  #remove(line: Line, name: string, turn: Waiting): void {
    const waiting = line.get(name)
    if (!waiting?.delete(turn)) return
    this.#queued -= 1
    if (waiting.size === 0) line.delete(name)
  }
}

/** The first client with the lowest rank. */
function lowest(line: Line, rank: (name: string, waiting: Set<Waiting>) => number): string | undefined {
  let best: string | undefined
  let bestRank = Number.POSITIVE_INFINITY
  for (const [name, waiting] of line) {
    const its = rank(name, waiting)
    if (its >= bestRank) continue
    best = name
    bestRank = its
  }
  return best
}
