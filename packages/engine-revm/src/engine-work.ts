import {
  type Awaitable,
  type Cancellation,
  type CancelSignal,
  EventLoopTurn,
  onAbort,
  runInSlices,
  TurnQueue,
} from '@upfront/node'
import { ErrorCode, RpcError } from '@upfront/protocol'
import type { Lacking, StateValue, Step } from '@upfront/simulation'
import type { EngineCore, Message } from './addon.js'
import { readReads, valuesText } from './values-text.js'

/** The addon's immediate answer: an outcome, or reads if the text begins with `PAUSED`. Null: the result comes through the mailbox. */
type AtOnce = string | Message | null

/** Text of a `failed` message for a simulation that ran out of memory. */
export const OUT_OF_MEMORY = 'out of memory'

/** First line of the answer for a simulation without a thread that lacks state. */
const PAUSED = 'paused\n'

/** How to decode the addon's texts. */
export interface Format<T> {
  /** Decodes an outcome from its text and, if it is long, the rest. */
  outcome: (text: string, long: Buffer | undefined) => T
  rejection: (text: string) => Error
}

/** Work on a thread, whose next message comes through the mailbox. */
interface Work {
  onMessage: (message: Message) => void
  failed: (reason: unknown) => void
}

/** The work of the addon or the module, as steps. */
export class EngineWork {
  readonly core: EngineCore
  readonly #work = new Map<number, Work>()
  /** Work waiting to be resumed. */
  readonly #lacking = new Set<number>()
  /** Work whose text is not complete. */
  readonly #arriving = new Set<number>()
  #lastId = 0
  #closed = false
  #isReceiving = false
  readonly #turns = new TurnQueue()
  /** Keeps the process alive while work is running, because neither the addon's callback nor a worker does. */
  readonly #alive = setInterval(() => {}, 2 ** 30).unref()

  /** @param create makes the engine, which must call `wake` when its mailbox is no longer empty */
  constructor(create: (wake: () => void) => EngineCore) {
    this.core = create(() => void this.#receive())
  }

  /** Rejects all running work. */
  async close(): Promise<void> {
    this.#closed = true
    const closing = this.core.close()
    for (const [id, work] of this.#work) {
      this.#forget(id)
      work.failed(closedError())
    }
    clearInterval(this.#alive)
    await closing
  }

  /**
   * Begins work. If the signal aborts, the work is rejected at once; its thread stops at the next jump or frame.
   * @throws or rejects if it is refused
   */
  begin<T>(cancellation: Cancellation, start: (id: number) => AtOnce, format: Format<T>): Awaitable<Step<T>> {
    if (this.#closed) throw closedError()
    const id = this.#nextId()
    return this.#step(
      id,
      callCore(() => start(id)),
      cancellation,
      format,
    )
  }

  /**
   * Like `begin`, for long text: it is passed in pieces, one per turn of the event loop.
   * @param pieces yields all pieces but the last, which it returns for `start`
   */
  async beginInPieces<T>(
    cancellation: Cancellation,
    pieces: (id: number) => Generator<void, string>,
    start: (id: number, last: string) => AtOnce,
    format: Format<T>,
  ): Promise<Step<T>> {
    const id = this.#nextId()
    this.#arriving.add(id)
    let atOnce: AtOnce
    try {
      const last = await runInSlices(pieces(id), cancellation)
      if (this.#closed) throw closedError()
      atOnce = callCore(() => start(id, last))
    } catch (error) {
      this.core.cancel(id)
      throw error
    } finally {
      this.#arriving.delete(id)
    }
    return this.#step(id, atOnce, cancellation, format)
  }

  #step<T>(id: number, atOnce: AtOnce, cancellation: Cancellation, format: Format<T>): Awaitable<Step<T>> {
    if (atOnce === null) return this.#awaitMessage(id, cancellation, format)
    if (typeof atOnce === 'string' && atOnce.startsWith(PAUSED))
      return this.#createLacking(id, atOnce.slice(PAUSED.length), cancellation, format)
    if (typeof atOnce === 'string') return { kind: 'done', outcome: format.outcome(atOnce, undefined) }
    if (atOnce.kind === 'rejected') throw format.rejection(atOnce.payload)
    return { kind: 'done', outcome: format.outcome(atOnce.payload, atOnce.json) }
  }

  #createLacking<T>(id: number, reads: string, cancellation: Cancellation, format: Format<T>): Lacking<T> {
    this.#throwIfAborted(id, cancellation)
    this.#lacking.add(id)
    return {
      kind: 'lacking',
      ...readReads(reads),
      resume: (values: readonly StateValue[]) => {
        this.#lacking.delete(id)
        if (this.#closed) throw closedError()
        this.#throwIfAborted(id, cancellation)
        const atOnce = callCore(() => this.core.resume(id, valuesText(values)))
        return this.#step(id, atOnce, cancellation, format)
      },
      abandon: () => {
        this.#lacking.delete(id)
        this.core.cancel(id)
      },
    }
  }

  /** @throws the signal's reason, after ending the work */
  #throwIfAborted(id: number, { signal }: Cancellation): void {
    if (!signal.aborted) return
    this.core.cancel(id)
    throw signal.reason
  }

  #awaitMessage<T>(id: number, cancellation: Cancellation, format: Format<T>): Promise<Step<T>> {
    const { signal } = cancellation
    return new Promise((resolve, reject) => {
      this.#throwIfAborted(id, cancellation)
      const takeOff = onAbort(signal, () => {
        this.#forget(id)
        this.core.cancel(id)
        reject(signal.reason)
      })
      this.#work.set(id, {
        onMessage: (message) => {
          takeOff()
          try {
            resolve(this.#stepOf(message, cancellation, format))
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

  #stepOf<T>({ kind, id, payload, json }: Message, cancellation: Cancellation, format: Format<T>): Step<T> {
    switch (kind) {
      case 'done':
        return { kind, outcome: format.outcome(payload, json) }
      case 'read':
        return this.#createLacking(id, payload, cancellation, format)
      case 'rejected':
        throw format.rejection(payload)
      case 'cancelled':
        throw reasonOf(cancellation.signal)
      default:
        throw payload === OUT_OF_MEMORY
          ? new RpcError(ErrorCode.limitExceeded, 'the simulation needs more memory than one may take here')
          : new Error(`the engine failed${payload === '' ? '' : `: ${payload}`}`)
    }
  }

  #nextId(): number {
    do this.#lastId = (this.#lastId + 1) >>> 0
    while ([this.#work, this.#lacking, this.#arriving].some((ids) => ids.has(this.#lastId)))
    return this.#lastId
  }

  #forget(id: number): void {
    this.#work.delete(id)
    if (this.#work.size === 0) this.#alive.unref()
  }

  /** Takes messages until the mailbox is empty. Decoding long answers may take several turns of the event loop. */
  async #receive(): Promise<void> {
    if (this.#isReceiving) return
    this.#isReceiving = true
    const turn = new EventLoopTurn(this.#turns)
    for (let message = this.core.take(); message !== null; message = this.core.take()) {
      const work = this.#work.get(message.id)
      if (work !== undefined) {
        this.#forget(message.id)
        work.onMessage(message)
      }
      await turn.yieldIfLong()
    }
    this.#isReceiving = false
  }
}

function closedError(): Error {
  return new Error('the engine was closed')
}

function reasonOf(signal: CancelSignal): unknown {
  return signal.reason ?? closedError()
}

/** Calls the addon. Its errors have a code: `Refusal` in crates/border/src/refusal.rs lists them. */
function callCore(call: () => AtOnce): AtOnce {
  try {
    return call()
  } catch (error) {
    const full = (error as { code?: unknown }).code === 'FULL'
    throw full ? new RpcError(ErrorCode.limitExceeded, 'too many simulations at once', undefined, 503) : error
  }
}
