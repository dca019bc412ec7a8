import { type Awaitable, type Cancellation, type CancelSignal, onAbort } from '@upfront/node'
import { ErrorCode, RpcError } from '@upfront/protocol'
import type { Lacking, StateRead, StateValue, Step } from '@upfront/simulation'
import type { Addon, Message, NativeEngine } from './addon.js'
import { readRead } from './border/records.js'
import { TextReader } from './border/text.js'

/** What the addon says at once: text is an outcome or begins with `PAUSED`. Null: what comes of it comes by mail. */
type AtOnce = string | Message | null

/** What a simulation that lacks state, and has no thread, begins with. */
const PAUSED = 'paused\n'

/** How the addon's texts are read. */
export interface Format<T> {
  /** Makes the outcome of its text and, where that is long, of what follows it. */
  outcome: (text: string, long: Buffer | undefined) => T
  rejection: (text: string) => Error
}

/** Work on a thread, whose next word comes by mail. */
interface Work {
  hear: (message: Message) => void
  failed: (reason: unknown) => void
}

export interface NativeLimits {
  cacheBytes: number
  memoryBytes: number
  threads: number
  queue: number
}

/** Work that the addon does, as steps. */
export class NativeWork {
  readonly native: NativeEngine
  readonly #work = new Map<number, Work>()
  /** Work that waits to be resumed. */
  readonly #lacking = new Set<number>()
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
      work.failed(closed())
    }
    clearInterval(this.#alive)
  }

  /**
   * Begins work. A signal that aborts rejects at once; the thread follows within a millisecond.
   * @throws or rejects with what is wrong with it
   */
  begin<T>(cancellation: Cancellation, start: (id: number) => AtOnce, format: Format<T>): Awaitable<Step<T>> {
    if (this.#closed) throw closed()
    const id = this.#nextId()
    return this.#step(
      id,
      accepted(() => start(id)),
      cancellation,
      format,
    )
  }

  #step<T>(id: number, atOnce: AtOnce, cancellation: Cancellation, format: Format<T>): Awaitable<Step<T>> {
    if (atOnce === null) return this.#byMail(id, cancellation, format)
    if (typeof atOnce === 'string' && atOnce.startsWith(PAUSED))
      return this.#lacks(id, atOnce.slice(PAUSED.length), cancellation, format)
    if (typeof atOnce === 'string') return { kind: 'done', outcome: format.outcome(atOnce, undefined) }
    if (atOnce.kind === 'rejected') throw format.rejection(atOnce.payload)
    return { kind: 'done', outcome: format.outcome(atOnce.payload, atOnce.json) }
  }

  #lacks<T>(id: number, reads: string, cancellation: Cancellation, format: Format<T>): Lacking<T> {
    this.#unlessAborted(id, cancellation)
    this.#lacking.add(id)
    return {
      kind: 'lacking',
      reads: readReads(reads),
      resume: (values: readonly StateValue[]) => {
        this.#lacking.delete(id)
        if (this.#closed) throw closed()
        this.#unlessAborted(id, cancellation)
        const atOnce = accepted(() => this.native.resume(id, valuesText(values)))
        return this.#step(id, atOnce, cancellation, format)
      },
      abandon: () => {
        this.#lacking.delete(id)
        this.native.cancel(id)
      },
    }
  }

  /** @throws the signal's reason, with the work ended */
  #unlessAborted(id: number, { signal }: Cancellation): void {
    if (!signal.aborted) return
    this.native.cancel(id)
    throw signal.reason
  }

  #byMail<T>(id: number, cancellation: Cancellation, format: Format<T>): Promise<Step<T>> {
    const { signal } = cancellation
    return new Promise((resolve, reject) => {
      this.#unlessAborted(id, cancellation)
      const takeOff = onAbort(signal, () => {
        this.#forget(id)
        this.native.cancel(id)
        reject(signal.reason)
      })
      this.#work.set(id, {
        hear: (message) => {
          takeOff()
          try {
            resolve(this.#heard(message, cancellation, format))
          } catch (error) {
            reject(error)
          }
        },
        failed: (reason) => {
          takeOff()
          reject(reason)
        },
      })
      if (this.#work.size === 1) this.#alive.ref()
    })
  }

  #heard<T>({ kind, id, payload, json }: Message, cancellation: Cancellation, format: Format<T>): Step<T> {
    switch (kind) {
      case 'done':
        return { kind, outcome: format.outcome(payload, json) }
      case 'read':
        return this.#lacks(id, payload, cancellation, format)
      case 'rejected':
        throw format.rejection(payload)
      case 'cancelled':
        throw reasonOf(cancellation.signal)
      default:
        throw new Error('the native engine failed')
    }
  }

  #nextId(): number {
    do this.#lastId = (this.#lastId + 1) >>> 0
    while (this.#work.has(this.#lastId) || this.#lacking.has(this.#lastId))
    return this.#lastId
  }

  #forget(id: number): void {
    this.#work.delete(id)
    if (this.#work.size === 0) this.#alive.unref()
  }

  /** Everything that native threads said since they were last heard. */
  #receive(): void {
    for (const message of this.native.take()) {
      const work = this.#work.get(message.id)
      if (work === undefined) continue
      this.#forget(message.id)
      work.hear(message)
    }
  }
}

function closed(): Error {
  return new Error('the engine was closed')
}

function reasonOf(signal: CancelSignal): unknown {
  return signal.reason ?? closed()
}

function readReads(text: string): StateRead[] {
  const reader = new TextReader(text)
  return reader.list(() => readRead(reader))
}

/** In the order of the reads. */
export function valuesText(values: readonly StateValue[]): string {
  let text = ''
  for (const value of values) text += `${typeof value === 'bigint' ? value.toString(16) : value}\n`
  return text
}

/** What the addon says. Its errors carry a code: `Refusal` in crates/bindings/src/refusal.rs has them all. */
function accepted(call: () => AtOnce): AtOnce {
  try {
    return call()
  } catch (error) {
    const full = (error as { code?: unknown }).code === 'FULL'
    throw full ? new RpcError(ErrorCode.limitExceeded, 'too many simulations at once', undefined, 503) : error
  }
}
