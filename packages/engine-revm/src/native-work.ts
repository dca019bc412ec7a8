import { ErrorCode, RpcError } from '@upfront/protocol'
import type { StateSource } from '@upfront/simulation'
import type { Addon, NativeEngine } from './addon.js'
import { readReads, valuesText } from './state-text.js'
import { TextReader } from './text-reader.js'

type Work = {
  state: StateSource
  signal: AbortSignal
  /** Takes the outcome's text, from `at` on. */
  done: (text: string, at: number) => void
  failed: (reason: unknown) => void
  rejected: (text: string, at: number) => Error
  readFailure?: unknown
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
   * Starts work on `state` and waits for what comes of it. A signal that aborts rejects at once; the thread follows within a
   * millisecond.
   * @param start gives the outcome's text where it has it at once
   * @param read makes the outcome of its text, from `at` on
   * @param rejected makes an error of the text of a rejection, from `at` on
   */
  run<T>(
    state: StateSource,
    signal: AbortSignal,
    start: (id: number) => string | null,
    read: (text: string, at: number) => T,
    rejected: (text: string, at: number) => Error,
  ): Promise<T> {
    if (this.#closed) return Promise.reject(new Error('the engine was closed'))
    if (signal.aborted) return Promise.reject(signal.reason)
    return new Promise((resolve, reject) => {
      const id = this.#nextId()
      let atOnce: string | null
      try {
        atOnce = start(id)
      } catch (error) {
        reject(refusal(error))
        return
      }
      if (atOnce !== null) {
        if (atOnce.startsWith('d')) resolve(read(atOnce, 1))
        else reject(rejected(atOnce, 1))
        return
      }
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
      const done = (text: string, at: number) => {
        try {
          resolve(read(text, at))
        } catch (error) {
          reject(error)
        }
      }
      signal.addEventListener('abort', abort, { once: true })
      this.#work.set(id, { state, signal, done: end(done), failed: end(reject), rejected })
      if (this.#work.size === 1) this.#alive.ref()
    })
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
    const mail = new TextReader(this.native.take())
    while (!mail.atEnd) {
      const kind = mail.word()
      const id = mail.number()
      const payload = mail.take(mail.number())
      const work = this.#work.get(id)
      if (work === undefined) continue
      if (kind === 'r') void this.#read(id, work, payload)
      else this.#settle(id, work, kind, payload)
    }
  }

  #settle(id: number, work: Work, kind: string, payload: string): void {
    this.#forget(id)
    if (kind === 'd') work.done(payload, 0)
    else work.failed(this.#reason(work, kind, payload))
  }

  #reason(work: Work, kind: string, payload: string): unknown {
    switch (kind) {
      case 'x':
        return work.rejected(payload, 0)
      case 'u':
        return work.readFailure ?? new RpcError(ErrorCode.internalError, 'state could not be read')
      case 'c':
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
