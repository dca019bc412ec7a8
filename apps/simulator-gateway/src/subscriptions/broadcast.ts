import { notifyInTurns } from '@upfront/chain'
import { EventLoopTurn } from '@upfront/node'

/** The source of a {@link Broadcast}'s events. */
export interface BroadcastSource<T> {
  /**
   * Starts the source.
   * @param end must be called if events were missed: listeners receive the reason and have to subscribe again
   * @returns a function that stops the source
   * @throws if it can't be started
   */
  begin(publish: (event: T) => void, end: (reason: string) => void): Promise<() => void>
  /** Events that a new listener receives first; none if absent. */
  current?(): readonly T[]
  /** The size of an event; 1 if absent. */
  weigh?(event: T): number
  /** Largest size of undelivered events; beyond it, listeners have to subscribe again. */
  most: number
  /** Size of the recent events from which listeners resume; older ones are dropped. Equal to `most` if absent. */
  maxKept?: number
  /** How long the source keeps running after its last listener has left, so that it can resume. */
  lingerMs: number
}

/** Receives events in order, one or more at a time. */
type Listener<T> = (...events: T[]) => void

interface Listening {
  ended: (reason: string) => void
  /** Undelivered events when it started to listen: it already has them. */
  skips: number
}

/**
 * Delivers one source's events to many listeners, in turns of the event loop. The source runs while there are listeners; recent events are
 * kept for those that reconnect.
 */
export class Broadcast<T> {
  readonly #listeners = new Map<Listener<T>, Listening>()
  #recent: T[] = []
  #size = 0
  /** Published but not delivered. */
  #waiting: T[] = []
  #waitingSize = 0
  #isTelling = false
  #running: Promise<() => void> | undefined
  #lingering: NodeJS.Timeout | undefined
  readonly #source: BroadcastSource<T>

  constructor(source: BroadcastSource<T>) {
    this.#source = source
  }

  /**
   * Listens from now on, or from after the event that `isLast` matches.
   * @param begin receives the events before the next one: the current ones, or those since `isLast`; if it throws, listening ends
   * @param ended called if events were missed: no more are delivered
   * @param isLast matches the last event that the listener knows
   * @returns a function that stops listening; undefined if that event is not among the recent ones
   * @throws what the source's `begin` throws
   */
  async listen(
    listener: Listener<T>,
    begin: (events: readonly T[]) => void,
    ended: (reason: string) => void,
    isLast?: (event: T) => boolean,
  ): Promise<(() => void) | undefined> {
    clearTimeout(this.#lingering)
    this.#running ??= this.#source.begin(
      (event) => this.#publish(event),
      (reason) => this.#end(reason),
    )
    const running = this.#running
    try {
      await running
    } catch (error) {
      if (this.#running === running) this.#running = undefined
      throw error
    }
    const at = isLast === undefined ? -1 : this.#recent.findLastIndex(isLast)
    try {
      if (isLast !== undefined && at < 0) return undefined
      begin(isLast === undefined ? (this.#source.current?.() ?? []) : this.#recent.slice(at + 1))
      this.#listeners.set(listener, { ended, skips: this.#waiting.length })
    } finally {
      this.#stopIfUnused()
    }
    return () => {
      if (this.#listeners.delete(listener)) this.#stopIfUnused()
    }
  }

  #publish(event: T): void {
    this.#recent.push(event)
    this.#size += this.#weight(event)
    const { most, maxKept = most } = this.#source
    while (this.#size > maxKept) this.#size -= this.#weight(this.#recent.shift()!)
    this.#waiting.push(event)
    this.#waitingSize += this.#weight(event)
    if (!this.#isTelling) void this.#tellWaiting()
    else if (this.#waitingSize > most) this.#end('too many notifications at once: subscribe again')
  }

  async #tellWaiting(): Promise<void> {
    this.#isTelling = true
    const turn = new EventLoopTurn()
    while (this.#waiting.length > 0) {
      const events = this.#waiting
      this.#waiting = []
      this.#waitingSize = 0
      const told = [...this.#listeners].map(([listener, listening]) => {
        const own = events.slice(listening.skips)
        listening.skips = 0
        return [listener, own] as const
      })
      await notifyInTurns(told, turn, (listener, some) => this.#listeners.has(listener) && listener(...some))
    }
    this.#isTelling = false
  }

  #weight(event: T): number {
    return this.#source.weigh?.(event) ?? 1
  }

  #end(reason: string): void {
    const told = [...this.#listeners.values()]
    this.#listeners.clear()
    this.#stop()
    for (const { ended } of told) ended(reason)
  }

  #stopIfUnused(): void {
    if (this.#listeners.size > 0) return
    clearTimeout(this.#lingering)
    this.#lingering = setTimeout(() => {
      if (this.#listeners.size === 0) this.#stop()
    }, this.#source.lingerMs).unref()
  }

  #stop(): void {
    clearTimeout(this.#lingering)
    void this.#running?.then((stop) => stop())
    this.#running = undefined
    this.#recent = []
    this.#size = 0
    this.#waiting = []
    this.#waitingSize = 0
  }
}
