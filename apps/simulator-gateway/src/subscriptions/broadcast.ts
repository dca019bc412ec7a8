import { tellInTurns } from '@upfront/chain'
import { Turn } from '@upfront/node'

/** Where a {@link Broadcast} gets its events from. */
export interface BroadcastSource<T> {
  /**
   * Starts the source.
   * @param end to be called where events are missing: whoever listens is told why, and has to begin anew
   * @returns what stops it
   * @throws where it can't be started
   */
  begin(publish: (event: T) => void, end: (reason: string) => void): Promise<() => void>
  /** What a new listener is told first; nothing where absent. */
  current?(): readonly T[]
  /** The size of an event; 1 where absent. */
  weigh?(event: T): number
  /** Of the events that wait to be told: where more do, whoever listens has to begin anew. */
  most: number
  /** Of the journal, from whose events listeners resume; older ones are dropped. As `most` where absent. */
  mostKept?: number
  /** How long the source runs on after the last listener left, so that it can resume. */
  lingerMs: number
}

/** Is given events in their order, one or more at a time. */
type Listener<T> = (...events: T[]) => void

interface Listening {
  ended: (reason: string) => void
  /** Events that waited to be told when it began to listen: it knows them. */
  skips: number
}

/**
 * One source's events for many listeners, told in turns of the event loop. It runs while somebody listens, and keeps the last events for
 * those who come back.
 */
export class Broadcast<T> {
  readonly #listeners = new Map<Listener<T>, Listening>()
  #journal: T[] = []
  #size = 0
  /** Published, and not told yet. */
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
   * Listens from now on, or from after the event that `isLast` names.
   * @param begin called with what comes before the next event: what is current, or what came since; what it throws ends listening
   * @param ended called where events are missing: nothing is told any more
   * @param isLast the last event that the listener knows
   * @returns what ends it; undefined where that event is not in the journal
   * @throws as the source's `begin`
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
    const at = isLast === undefined ? -1 : this.#journal.findLastIndex(isLast)
    try {
      if (isLast !== undefined && at < 0) return undefined
      begin(isLast === undefined ? (this.#source.current?.() ?? []) : this.#journal.slice(at + 1))
      this.#listeners.set(listener, { ended, skips: this.#waiting.length })
    } finally {
      this.#stopIfUnheard()
    }
    return () => {
      if (this.#listeners.delete(listener)) this.#stopIfUnheard()
    }
  }

  #publish(event: T): void {
    this.#journal.push(event)
    this.#size += this.#weight(event)
    const { most, mostKept = most } = this.#source
    while (this.#size > mostKept) this.#size -= this.#weight(this.#journal.shift()!)
    this.#waiting.push(event)
    this.#waitingSize += this.#weight(event)
    if (!this.#isTelling) void this.#tellWaiting()
    else if (this.#waitingSize > most) this.#end('more came at once than can be told: subscribe again')
  }

  async #tellWaiting(): Promise<void> {
    this.#isTelling = true
    const turn = new Turn()
    while (this.#waiting.length > 0) {
      const events = this.#waiting
      this.#waiting = []
      this.#waitingSize = 0
      const told = [...this.#listeners].map(([listener, listening]) => {
        const own = events.slice(listening.skips)
        listening.skips = 0
        return [listener, own] as const
      })
      await tellInTurns(told, turn, (listener, some) => this.#listeners.has(listener) && listener(...some))
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

  #stopIfUnheard(): void {
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
    this.#journal = []
    this.#size = 0
    this.#waiting = []
    this.#waitingSize = 0
  }
}
