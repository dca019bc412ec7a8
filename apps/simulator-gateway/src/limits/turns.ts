import type { Writable } from 'node:stream'
import { type Awaitable, andThen, type Cancellation } from '@upfront/node'
import { isLarge, type Memory, memoryShares, recordingBytes, workingBytes } from './memory.js'
import type { MemoryGuard } from './memory-guard.js'
import { RequestLifetime } from './request-lifetime.js'
import { type Client, RequestQueue } from './request-queue.js'

/** A request as far as its turn depends on it. */
export interface TurnRequest {
  client: Client
  /** What it writes its answer to. */
  response: Writable
  timeoutMs: number
  /** Of its body. */
  length: number
}

export interface TurnLimits {
  /** Requests at one time. A client that has none under way needn't wait for one of them: see `maxQueued`. */
  maxInFlight: number
  /** Requests that wait for a slot, as many for memory, and as many for that of records. As many clients have their first beside the slots. */
  maxQueued: number
}

/**
 * Waits until a request that has a slot may record so many bytes of its calls.
 * @returns what to call, once, when nothing of the record is left
 * @throws or rejects with Overloaded, ClientGone
 */
export type RecordTurn = (answerBytes: number) => Promise<() => void>

/** While connections come in each turn of the event loop, one request that waits goes on for so many of them. */
const ACCEPTED_BEFORE_SERVED = 8

/**
 * Gives each request its turn: of the memory for work on its body, where that is large, then of the slots, and then of the memory for long
 * records.
 */
export class Turns {
  readonly #slots: RequestQueue
  readonly #work: RequestQueue
  readonly #workBytes: number
  readonly #records: RequestQueue
  readonly #recordBytes: number
  #isAccepting = false
  #acceptedInTurn = false
  #accepted = 0
  readonly #limits: { memory: Memory; guard: MemoryGuard }
  readonly #waitingForIdle: (() => void)[] = []

  constructor({ maxInFlight, maxQueued }: TurnLimits, limits: { memory: Memory; guard: MemoryGuard }) {
    this.#limits = limits
    const { work, simulations } = memoryShares(limits.memory.limit)
    this.#workBytes = work
    this.#recordBytes = simulations
    this.#records = new RequestQueue(this.#recordBytes, maxQueued)
    // Long simulations share the cores (the engine's time slices), so that a newcomer's small one needn't wait until any of them ends.
    this.#slots = new RequestQueue(maxInFlight, maxQueued, maxQueued)
    this.#work = new RequestQueue(this.#workBytes, maxQueued)
  }

  get inFlight(): number {
    return this.#slots.inFlight
  }

  get queued(): number {
    return this.#slots.queued + this.#work.queued + this.#records.queued
  }

  /** Resolves once no request is under way and none waits. */
  async idle(): Promise<void> {
    while (this.inFlight + this.queued > 0) await new Promise<void>((resolve) => this.#waitingForIdle.push(resolve))
  }

  /**
   * A connection was accepted in this turn of the event loop. libuv accepts one in each, so that a new client would wait for as many turns
   * as connections were made before its own. Until none comes in a turn, turns are kept short: further requests of clients that have one
   * under way wait.
   */
  connectionAccepted(): void {
    this.#acceptedInTurn = true
    if (this.#isAccepting) return
    this.#isAccepting = true
    this.#slots.hold()
    setImmediate(this.#turnEnds)
  }

  /**
   * Does a request's work once it is its turn, at once where it is: one unit of load with one time-out, whatever it holds.
   * @throws or rejects with Overloaded, ClientGone, what `work` throws
   */
  take<T>(
    { client, response, timeoutMs, length }: TurnRequest,
    work: (lifetime: RequestLifetime, record: RecordTurn) => Awaitable<T>,
  ): Awaitable<T> {
    const lifetime = new RequestLifetime(response, timeoutMs, client.name, this.#limits)
    // More than there is counts as all of it: such a request is worked on alone.
    const bytes = isLarge(length) ? Math.min(workingBytes(length), this.#workBytes) : 0
    const inSlot = () =>
      holding(this.#slots, client, lifetime, 1, () => {
        lifetime.begin(bytes)
        return work(lifetime, (answerBytes) => this.#record(client, lifetime, answerBytes))
      })
    return lastly(
      () => (bytes === 0 ? inSlot() : holding(this.#work, client, lifetime, bytes, inSlot)),
      () => {
        lifetime.end()
        this.#noteIdle()
      },
    )
  }

  #noteIdle(): void {
    if (this.#waitingForIdle.length === 0 || this.inFlight + this.queued > 0) return
    for (const resolve of this.#waitingForIdle.splice(0)) resolve()
  }

  async #record(client: Client, cancellation: Cancellation, answerBytes: number): Promise<() => void> {
    // More than there is counts as all of it, as with bodies.
    const bytes = Math.min(recordingBytes(answerBytes), this.#recordBytes)
    await this.#records.enter(client, cancellation, bytes)
    return () => this.#records.leave(client, bytes)
  }

  readonly #turnEnds = () => {
    if (!this.#acceptedInTurn) {
      this.#isAccepting = false
      this.#slots.release()
      return
    }
    this.#acceptedInTurn = false
    this.#accepted += 1
    if (this.#accepted % ACCEPTED_BEFORE_SERVED === 0) this.#slots.admitOne()
    setImmediate(this.#turnEnds)
  }
}

function holding<T>(
  queue: RequestQueue,
  client: Client,
  lifetime: RequestLifetime,
  units: number,
  work: () => Awaitable<T>,
): Awaitable<T> {
  return andThen(queue.enter(client, lifetime, units), () => lastly(work, () => queue.leave(client, units)))
}

/** Runs `work`, then `end`, whether it succeeds or not. */
function lastly<T>(work: () => Awaitable<T>, end: () => void): Awaitable<T> {
  let value: Awaitable<T>
  try {
    value = work()
  } catch (thrown) {
    end()
    throw thrown
  }
  if (value instanceof Promise) return value.finally(end)
  end()
  return value
}
