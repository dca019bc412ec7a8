import { type Cancellation, onAbort } from '@upfront/node'
import { ClientGone, Overloaded } from './refused.js'
import { Tally } from './tally.js'

/** The client that a turn is for. */
export interface Client {
  /** An address, a network or a payer. */
  name: string
  /** Paying clients are served first. */
  pays: boolean
}

interface Waiting {
  /** Units of the capacity that the turn takes. */
  readonly units: number
  enter(): void
  refuse(error: Error): void
}

/** Waiting turns by client, in the order of the next turns among clients that hold equally much. */
type Line = Map<string, Set<Waiting>>

/**
 * Shares a capacity (slots, bytes) among requests; at most `maxQueued` of them wait. A client may hold as much as stays free next to it, so
 * others always find something. The first request of up to `forFirst` clients takes nothing of the capacity. The next turn goes to a paying
 * client, then to the client that holds least, among those whose turn fits; a client's own requests are served in order. If too many wait,
 * the client with the most waiting has its newest refused.
 */
export class RequestQueue {
  #taken = 0
  #inFlight = 0
  #queued = 0
  #isHeld = false
  /** Units that each client holds. */
  readonly #held = new Tally()
  /** Clients whose first request does not count towards the capacity. */
  readonly #firsts = new Set<string>()
  readonly #paid: Line = new Map()
  readonly #free: Line = new Map()
  readonly #capacity: number
  readonly #forFirst: number
  readonly #maxQueued: number

  constructor(capacity: number, maxQueued: number, forFirst = 0) {
    this.#capacity = capacity
    this.#forFirst = forFirst
    this.#maxQueued = maxQueued
  }

  get inFlight(): number {
    return this.#inFlight
  }

  get queued(): number {
    return this.#queued
  }

  /**
   * Returns undefined if there is room, otherwise a promise that resolves with the turn. Call `leave` once for each turn.
   * @param units at most the capacity
   * @throws Overloaded if too many wait. Rejects with Overloaded when the signal aborts or the turn is given up for another client, and
   * with ClientGone if that is the signal's reason
   */
  enter(client: Client, cancellation: Cancellation, units = 1): Promise<void> | undefined {
    const { name, pays } = client
    const line = pays ? this.#paid : this.#free
    const isItsOnly = this.#held.of(name) === 0 && !line.has(name)
    if ((!this.#isHeld || isItsOnly) && this.#hasRoom(name, units)) {
      this.#take(name, units)
      return undefined
    }
    if (this.#queued >= this.#queueLimit()) this.#makeRoom(client)
    const { signal } = cancellation
    return new Promise((resolve, reject) => {
      const end = () => {
        takeOff()
        this.#remove(line, name, turn)
      }
      const turn: Waiting = {
        units,
        enter: () => {
          end()
          this.#take(name, units)
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
            : new Overloaded('the server is busy: the request waited too long for its turn'),
        ),
      )
    })
  }

  leave({ name }: Client, units = 1): void {
    this.#inFlight -= 1
    this.#held.add(name, -units)
    if (this.#held.of(name) > 0 || !this.#firsts.delete(name)) this.#taken -= units
    if (this.#queued > 0 && !this.#isHeld) this.#admit()
  }

  /** Until `release`, a client that has a request under way or waiting gets no further turn, except by `admitOne`. */
  hold(): void {
    this.#isHeld = true
  }

  /** Gives a turn to one waiting request, if there is room. */
  admitOne(): void {
    this.#next()?.enter()
  }

  /** Gives a turn to every waiting request that there is room for, then refuses those over `maxQueued`. */
  release(): void {
    this.#isHeld = false
    this.#admit()
    while (this.#queued > this.#maxQueued) this.#refuseNewest(this.#free.size > 0 ? this.#free : this.#paid)
  }

  /** While held, requests that there would be room for wait too. */
  #queueLimit(): number {
    return this.#maxQueued + (this.#isHeld ? this.#capacity - this.#taken : 0)
  }

  #hasRoom(name: string, units: number): boolean {
    const held = this.#held.of(name)
    if (held === 0 && this.#firsts.size < this.#forFirst) return true
    return held + units <= this.#capacity - this.#taken - (this.#firsts.has(name) ? 1 : 0)
  }

  #take(name: string, units: number): void {
    this.#inFlight += 1
    const held = this.#held.of(name)
    if (held === 0 && this.#firsts.size < this.#forFirst) this.#firsts.add(name)
    else this.#taken += units
    this.#held.add(name, units)
  }

  #admit(): void {
    for (let next = this.#next(); next !== undefined; next = this.#next()) next.enter()
  }

  #next(): Waiting | undefined {
    for (const line of [this.#paid, this.#free]) {
      const name = lowestRanked(line, (candidate, waiting) =>
        this.#hasRoom(candidate, firstWaiting(waiting).units) ? this.#held.of(candidate) : Number.POSITIVE_INFINITY,
      )
      if (name === undefined) continue
      const waiting = line.get(name)!
      // Moves the client to the end, so that clients holding equally much take turns.
      line.delete(name)
      line.set(name, waiting)
      return firstWaiting(waiting)
    }
    return undefined
  }

  /**
   * Refuses the newest request of the client with the most waiting: for a paying client a free one, otherwise one of a client that has more
   * waiting than this one.
   * @throws Overloaded if there is none
   */
  #makeRoom({ name, pays }: Client): void {
    const isServedBefore = pays && this.#free.size > 0
    const line = pays && !isServedBefore ? this.#paid : this.#free
    const most = Math.max(0, ...[...line.values()].map(({ size }) => size))
    const hasMore = isServedBefore || most > (line.get(name)?.size ?? 0) + 1
    if (most === 0 || !hasMore) throw this.#fullError()
    this.#refuseNewest(line)
  }

  /** Refuses the newest request of the client that has the most waiting. */
  #refuseNewest(line: Line): void {
    const most = lowestRanked(line, (_, waiting) => -waiting.size)
    const waiting = [...(line.get(most ?? '') ?? [])]
    waiting.at(-1)?.refuse(this.#fullError())
  }

  #fullError(): Overloaded {
    return new Overloaded(`too many requests at once: ${this.#maxQueued} are waiting already`)
  }

  #remove(line: Line, name: string, turn: Waiting): void {
    const waiting = line.get(name)
    if (!waiting?.delete(turn)) return
    this.#queued -= 1
    if (waiting.size === 0) line.delete(name)
  }
}

function firstWaiting(waiting: Set<Waiting>): Waiting {
  const [next] = waiting
  return next!
}

/** The first client with the lowest rank; undefined if all ranks are infinite. */
function lowestRanked(line: Line, rank: (name: string, waiting: Set<Waiting>) => number): string | undefined {
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
