import { type Awaitable, type Cancellation, type CancelSignal, unlessAborted } from '@upfront/node'
import { ErrorCode, RpcError } from '@upfront/protocol'
import type { StateRead, StateSource, StateValue } from '@upfront/simulation'
import type { Addon, Message, NativeEngine } from './addon.js'
import { readRead } from './border/records.js'
import { TextReader } from './border/text.js'

type Work = {
  state: StateSource
  signal: CancelSignal
  /** Takes the outcome's text and, where that is long, what follows it. */
  done: (text: string, long: Buffer | undefined) => void
  failed: (reason: unknown) => void
  rejected: (text: string) => Error
  readFailure?: unknown
}

/** What the addon has to say at once: text is an outcome or `PAUSED`. Null: what comes of it comes by mail. */
type AtOnce = string | Message | null

/** What a simulation that lacks state begins with. */
const PAUSED = 'paused\n'

/** How the addon's texts are read. */
interface Reading<T> {
  /** Makes the outcome of its text and, where that is long, of what follows it. */
  outcome: (text: string, long: Buffer | undefined) => T
  rejection: (text: string) => Error
}

export interface NativeLimits {
  cacheBytes: number
  threads: number
  queue: number
}

/** Work that native threads do, and what they ask for and have to say meanwhile. */
export class NativeWork {
  readonly native: NativeEngine
  readonly #work = new Map<number, Work>()
  /** Simulations that have no thread and lacked state, until they go on. */
  readonly #resumed = new Map<number, Promise<AtOnce>>()
  #lastId = 0
  #closed = false
  /** The addon's call-back does not keep the process alive: this does while work is under way. */
  readonly #alive = setInterval(() => {}, 2 ** 30).unref()

  constructor(addon: Addon, limits: NativeLimits) {
    this.native = new addon.NativeEngine(limits, () => this.#receive())
  }

  /** Everything under way is rejected. */
  close(): void {
    this.#closed = true
    this.native.close()
    for (const [id, work] of this.#work) {
      this.#forget(id)
      work.failed(new Error('the engine was closed'))
    }
    clearInterval(this.#alive)
  }

  /**
   * Starts work on `state`: what comes of it, at once where the addon has it at once (what is wrong is thrown then). A signal
   * that aborts rejects at once; the thread follows within a millisecond.
   */
  run<T>(
    state: StateSource,
    cancellation: Cancellation,
    start: (id: number) => AtOnce,
    reading: Reading<T>,
  ): Awaitable<T> {
    if (this.#closed) throw new Error('the engine was closed')
    const id = this.#nextId()
    const atOnce = accepted(() => start(id))
    if (typeof atOnce !== 'string' || !atOnce.startsWith(PAUSED))
      return this.#outcome(id, state, cancellation, atOnce, reading)
    const resumed = this.#resume(id, state, cancellation.signal, atOnce.slice(PAUSED.length))
    this.#resumed.set(id, resumed)
    return resumed.then(
      (atOnce) => {
        this.#resumed.delete(id)
        return this.#outcome(id, state, cancellation, atOnce, reading)
      },
      (error: unknown) => {
        this.#resumed.delete(id)
        throw error
      },
    )
  }

  /** Has the reads made that the addon asked for, then lets it go on. */
  async #resume(id: number, state: StateSource, signal: CancelSignal, asked: string): Promise<AtOnce> {
    try {
      const reader = new TextReader(asked)
      const others = reader.list(() => this.#resumed.get(reader.number()))
      const reads = readReads(reader)
      const values = reads.length === 0 ? [] : await state.read(reads, signal)
      // What another one failed to read, this one's own thread asks for.
      if (others.length > 0) await unlessAborted(Promise.allSettled(others), signal)
      if (this.#closed) throw new Error('the engine was closed')
      return accepted(() => this.native.resume(id, valuesText(values)))
    } catch (error) {
      this.native.cancel(id)
      throw error
    }
  }

  #outcome<T>(
    id: number,
    state: StateSource,
    cancellation: Cancellation,
    atOnce: AtOnce,
    reading: Reading<T>,
  ): Awaitable<T> {
    if (atOnce === null) return this.#byMail(id, state, cancellation.signal, reading)
    if (typeof atOnce === 'string') return reading.outcome(atOnce, undefined)
    if (atOnce.kind === 'rejected') throw reading.rejection(atOnce.payload)
    return reading.outcome(atOnce.payload, atOnce.json)
  }

  #byMail<T>(id: number, state: StateSource, signal: CancelSignal, { outcome, rejection }: Reading<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      const abort = () => {
        this.#forget(id)
        this.native.cancel(id)
        reject(signal.reason)
      }
      const end = <A extends unknown[]>(settle: (...values: A) => void) => {
        return (...values: A) => {
          signal.removeEventListener('abort', abort)
          settle(...values)
        }
      }
      const done = (text: string, long: Buffer | undefined) => {
        try {
          resolve(outcome(text, long))
        } catch (error) {
          reject(error)
        }
      }
      if (signal.aborted) {
        this.native.cancel(id)
        reject(signal.reason)
        return
      }
      signal.addEventListener('abort', abort, { once: true })
      this.#work.set(id, { state, signal, done: end(done), failed: end(reject), rejected: rejection })
      if (this.#work.size === 1) this.#alive.ref()
    })
  }

  #nextId(): number {
    do this.#lastId = (this.#lastId + 1) >>> 0
    while (this.#work.has(this.#lastId) || this.#resumed.has(this.#lastId))
    return this.#lastId
  }

  #forget(id: number): void {
    this.#work.delete(id)
    if (this.#work.size === 0) this.#alive.unref()
  }

  /** Everything that native threads had to say since it was last asked. */
  #receive(): void {
    for (const { kind, id, payload, json } of this.native.take()) {
      const work = this.#work.get(id)
      if (work === undefined) continue
      if (kind === 'read') void this.#read(id, work, payload)
      else this.#settle(id, work, kind, payload, json)
    }
  }

  #settle(id: number, work: Work, kind: Message['kind'], payload: string, json: Buffer | undefined): void {
    this.#forget(id)
    if (kind === 'done') work.done(payload, json)
    else work.failed(this.#reason(work, kind, payload))
  }

  #reason(work: Work, kind: Message['kind'], payload: string): unknown {
    switch (kind) {
      case 'rejected':
        return work.rejected(payload)
      case 'unread':
        return work.readFailure ?? new RpcError(ErrorCode.internalError, 'state could not be read')
      case 'cancelled':
        return work.signal.reason ?? new Error('the engine was closed')
      default:
        return new Error('the native engine failed')
    }
  }

  async #read(id: number, work: Work, payload: string): Promise<void> {
    try {
      const reads = readReads(new TextReader(payload))
      const values = await work.state.read(reads, work.signal)
      this.native.answer(id, valuesText(values))
    } catch (error) {
      work.readFailure = error
      this.native.answerFailed(id)
    }
  }
}

function readReads(reader: TextReader): StateRead[] {
  return reader.list(() => readRead(reader))
}

/** In the order of the reads. */
function valuesText(values: readonly StateValue[]): string {
  let text = ''
  for (const value of values) text += `${typeof value === 'bigint' ? value.toString(16) : value}\n`
  return text
}

/** What the addon says. Its own errors come from outside of any realm: their message alone tells. */
function accepted(call: () => AtOnce): AtOnce {
  try {
    return call()
  } catch (error) {
    const full = (error as Error).message === 'full'
    throw full ? new RpcError(ErrorCode.limitExceeded, 'too many simulations at once', undefined, 503) : error
  }
}
