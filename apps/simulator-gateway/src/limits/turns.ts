import type { Writable } from 'node:stream'
import { type Awaitable, andThen, type Cancellation } from '@upfront/node'
import { isLarge, type Memory, memoryShares, recordingBytes, workingBytes } from './memory.js'
import type { MemoryGuard } from './memory-guard.js'
import { RequestLifetime } from './request-lifetime.js'
import { type Client, RequestQueue } from './request-queue.js'

/** The parts of a request that its turn depends on. */
export interface TurnRequest {
  client: Client
  /** The stream that the answer is written to. */
  response: Writable
  timeoutMs: number
  /** Of its body, in bytes. */
  length: number
}

export interface TurnLimits {
  /** Requests under way at one time. A client's first request may exceed it: see `maxQueued`. */
  maxInFlight: number
  /** Requests that may wait in each of the three queues. Also the number of clients whose first request needs no slot. */
  maxQueued: number
}

/**
 * Waits until a request that has a slot may record up to `answerBytes` of its calls.
 * @returns a function to call once the record is no longer needed
 * @throws or rejects with Overloaded or ClientGone
 */
export type RecordTurn = (answerBytes: number) => Promise<() => void>

/** While connections keep arriving, one waiting request is served for this many of them. */
const ACCEPTED_BEFORE_SERVED = 8

/** Gives each request its turn: first memory for work on a large body, then a slot, then memory for long records. */
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
    // Long simulations share the cores in time slices, so a new client's first request need not wait until one of them ends.
    this.#slots = new RequestQueue(maxInFlight, maxQueued, maxQueued)
    this.#work = new RequestQueue(this.#workBytes, maxQueued)
  }

  get inFlight(): number {
    return this.#slots.inFlight
  }

  get queued(): number {
    return this.#slots.queued + this.#work.queued + this.#records.queued
  }

  /** Resolves once no request is under way or waiting. */
  async idle(): Promise<void> {
    while (this.inFlight + this.queued > 0) await new Promise<void>((resolve) => this.#waitingForIdle.push(resolve))
  }

  /**
   * Called for each accepted connection. libuv accepts one per turn of the event loop, so a new client would wait for as many turns as
   * there are connections before its own. Until a turn brings none, turns are kept short: further requests of clients that have one under
   * way wait.
   */
  connectionAccepted(): void {
    this.#acceptedInTurn = true
    if (this.#isAccepting) return
    this.#isAccepting = true
    this.#slots.hold()
    setImmediate(this.#onLoopTurn)
  }

  /**
   * Runs a request's work once it has its turn, synchronously if there is room now. A batch takes one slot and one time-out, like a call.
   * @throws or rejects with Overloaded, ClientGone or what `work` throws
   */
  take<T>(
    { client, response, timeoutMs, length }: TurnRequest,
    work: (lifetime: RequestLifetime, record: RecordTurn) => Awaitable<T>,
  ): Awaitable<T> {
    const lifetime = new RequestLifetime(response, timeoutMs, client.name, this.#limits)
    // A body that needs more than all memory takes all of it: it is worked on alone.
    const bytes = isLarge(length) ? Math.min(workingBytes(length), this.#workBytes) : 0
    const inSlot = () =>
      runInQueue(this.#slots, client, lifetime, 1, () => {
        lifetime.begin(bytes)
        return work(lifetime, (answerBytes) => this.#enterRecords(client, lifetime, answerBytes))
      })
    return runThenEnd(
      () => (bytes === 0 ? inSlot() : runInQueue(this.#work, client, lifetime, bytes, inSlot)),
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

  async #enterRecords(client: Client, cancellation: Cancellation, answerBytes: number): Promise<() => void> {
    // Takes at most all memory, like a large body.
    const bytes = Math.min(recordingBytes(answerBytes), this.#recordBytes)
    await this.#records.enter(client, cancellation, bytes)
    return () => this.#records.leave(client, bytes)
  }

  readonly #onLoopTurn = () => {
    if (!this.#acceptedInTurn) {
      this.#isAccepting = false
      this.#slots.release()
      return
    }
    this.#acceptedInTurn = false
    this.#accepted += 1
    if (this.#accepted % ACCEPTED_BEFORE_SERVED === 0) this.#slots.admitOne()
    setImmediate(this.#onLoopTurn)
  }
}

function runInQueue<T>(
  queue: RequestQueue,
  client: Client,
  lifetime: RequestLifetime,
  units: number,
  work: () => Awaitable<T>,
): Awaitable<T> {
  return andThen(queue.enter(client, lifetime, units), () => runThenEnd(work, () => queue.leave(client, units)))
}

/** Runs `work`, then `end`, even if `work` fails. */
function runThenEnd<T>(work: () => Awaitable<T>, end: () => void): Awaitable<T> {
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
