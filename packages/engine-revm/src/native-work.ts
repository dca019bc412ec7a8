import { ErrorCode, type Hash, RpcError } from '@upfront/protocol'
import {
  type Awaitable,
  type Cancellation,
  type CancelSignal,
  type StateRead,
  type StateSource,
  unlessAborted,
} from '@upfront/simulation'
import type { Addon, Message, NativeEngine } from './addon.js'
import { readReads, readsText, readText, valuesText } from './state-text.js'
import { TextReader } from './text-reader.js'

type Work = {
  state: StateSource
  signal: CancelSignal
  /** Takes the outcome's text and, where that is long, what follows it. */
  done: (text: string, long: Buffer | undefined) => void
  failed: (reason: unknown) => void
  rejected: (text: string) => Error
  readFailure?: unknown
}

/** Null: what comes of it comes by mail. */
type Start = (id: number, asks: boolean) => string | Message | null

export interface NativeLimits {
  cacheBytes: number
  threads: number
  queue: number
}

/** Work that native threads do, and what they ask for and have to say meanwhile. */
export class NativeWork {
  readonly native: NativeEngine
  readonly #work = new Map<number, Work>()
  /** Reads under way for requests that have no thread yet: by state, then by what is read. */
  readonly #asked = new Map<Hash, Map<string, Promise<void>>>()
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
   * @param start gives what comes of it where it has it at once; where it `asks`, the reads that would let it
   * @param read makes the outcome of its text and, where that is long, of what follows it
   * @param rejected makes an error of the text of a rejection
   */
  run<T>(
    state: StateSource,
    cancellation: Cancellation,
    start: Start,
    read: (text: string, long: Buffer | undefined) => T,
    rejected: (text: string) => Error,
    asks = true,
  ): Awaitable<T> {
    if (this.#closed) throw new Error('the engine was closed')
    const id = this.#nextId()
    const atOnce = this.#start(start, id, asks)
    if (typeof atOnce === 'string') return read(atOnce, undefined)
    if (atOnce !== null) {
      if (atOnce.kind === 'done') return read(atOnce.payload, atOnce.json)
      if (atOnce.kind === 'rejected') throw rejected(atOnce.payload)
      const provided = this.#provide(state, cancellation, atOnce.payload)
      return provided.then(() => this.run(state, cancellation, start, read, rejected, false))
    }
    const { signal } = cancellation
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
          resolve(read(text, long))
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
      this.#work.set(id, { state, signal, done: end(done), failed: end(reject), rejected })
      if (this.#work.size === 1) this.#alive.ref()
    })
  }

  /** Has the reads made and hands them to the addon. What another request waits for is not asked again. */
  #provide(state: StateSource, { signal }: Cancellation, asked: string): Promise<unknown> {
    const own: StateRead[] = []
    const texts: string[] = []
    const others = new Set<Promise<void>>()
    const underWay = this.#asked.get(state.key)
    for (const read of readReads(new TextReader(asked))) {
      const text = readText(read)
      const other = underWay?.get(text)
      if (other !== undefined) others.add(other)
      else {
        own.push(read)
        texts.push(text)
      }
    }
    const provided = own.length > 0 ? this.#ask(state, signal, own, texts) : Promise.resolve()
    // Where another fails, this request's own thread asks.
    return others.size === 0 ? provided : provided.then(() => unlessAborted(Promise.allSettled(others), signal))
  }

  #ask(state: StateSource, signal: CancelSignal, reads: StateRead[], texts: string[]): Promise<void> {
    let underWay = this.#asked.get(state.key)
    if (underWay === undefined) {
      underWay = new Map()
      this.#asked.set(state.key, underWay)
    }
    const asking = this.#readAndProvide(state, signal, reads, texts, underWay)
    for (const text of texts) underWay.set(text, asking)
    return asking
  }

  async #readAndProvide(
    state: StateSource,
    signal: CancelSignal,
    reads: StateRead[],
    texts: string[],
    underWay: Map<string, Promise<void>>,
  ): Promise<void> {
    try {
      const values = await state.read(reads, signal)
      if (!this.#closed) this.native.provide(state.key, readsText(texts), valuesText(values))
    } finally {
      for (const text of texts) underWay.delete(text)
      if (underWay.size === 0) this.#asked.delete(state.key)
    }
  }

  #start(start: Start, id: number, asks: boolean): ReturnType<Start> {
    try {
      return start(id, asks)
    } catch (error) {
      throw refusal(error)
    }
  }

  #nextId(): number {
    do this.#lastId = (this.#lastId + 1) >>> 0
    while (this.#work.has(this.#lastId))
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

/** The addon's own errors come from outside of any realm: their message alone tells. */
function refusal(error: unknown): unknown {
  const full = (error as Error).message === 'full'
  return full ? new RpcError(ErrorCode.limitExceeded, 'too many simulations at once', undefined, 503) : error
}
