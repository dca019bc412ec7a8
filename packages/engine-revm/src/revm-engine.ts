import { ErrorCode, RpcError } from '@upfront/protocol'
import {
  type Engine,
  type SimulationOutcome,
  type SimulationPlan,
  SimulationRejected,
  type StateSource,
} from '@upfront/simulation'
import { type Addon, loadRevm, type NativeEngine } from './addon.js'
import { LayerNumbers } from './layer-numbers.js'
import { readOutcome } from './outcome-text.js'
import { planText } from './plan-text.js'
import { readReads, valuesText } from './state-text.js'
import { TextReader } from './text-reader.js'

export interface RevmEngineOptions {
  /** Bound of the state kept between requests, estimated bytes. Default 256 MB. */
  cacheBytes?: number
  /** Threads at most: they wait for state, so more than there are cores. Default 64. */
  threads?: number
  /** Simulations that wait for a thread at most: one more is refused with HTTP 503. Default 1024. */
  queue?: number
}

export interface RevmEngine extends Engine {
  readonly name: 'revm'
}

/** revm's version, as Cargo.lock pins it. */
const VERSION = '38.0.0'

/** @throws Error where the addon is not built: ask `loadRevm` first. */
export function createRevmEngine(options: RevmEngineOptions = {}): RevmEngine {
  const available = loadRevm()
  if (available.addon === undefined) throw new Error(available.reason)
  return new NativeBackedEngine(available.addon, options)
}

type Work = {
  state: StateSource
  signal: AbortSignal
  /** Takes the outcome's text, from `at` on. */
  done: (text: string, at: number) => void
  failed: (reason: unknown) => void
  readFailure?: unknown
}

class NativeBackedEngine implements RevmEngine {
  readonly name = 'revm'
  readonly version = VERSION
  readonly #native: NativeEngine
  readonly #layers: LayerNumbers
  readonly #work = new Map<number, Work>()
  #lastId = 0
  #closed = false
  /** The addon's call-back does not keep the process alive: this does while work is under way. */
  readonly #alive = setInterval(() => {}, 2 ** 30).unref()

  constructor(addon: Addon, options: RevmEngineOptions) {
    this.#native = new addon.NativeEngine(
      {
        cacheBytes: options.cacheBytes ?? 256 * 1024 * 1024,
        threads: options.threads ?? 64,
        queue: options.queue ?? 1024,
      },
      () => this.#receive(),
    )
    this.#layers = new LayerNumbers(this.#native)
  }

  simulate(plan: SimulationPlan, state: StateSource, signal: AbortSignal): Promise<SimulationOutcome> {
    const text = planText(plan)
    return this.#run(
      state,
      signal,
      (id) => this.#native.simulate(id, state.key, this.#layers.of(state.layers), text),
      (outcome, at) => readOutcome(outcome, at, plan),
    )
  }

  close(): Promise<void> {
    this.#closed = true
    this.#native.close()
    for (const [id, work] of this.#work) {
      this.#forget(id)
      work.failed(new Error('the engine was closed'))
    }
    clearInterval(this.#alive)
    return Promise.resolve()
  }

  #run<T>(
    state: StateSource,
    signal: AbortSignal,
    start: (id: number) => string | null,
    read: (text: string, at: number) => T,
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
        else reject(rejection(atOnce, 1))
        return
      }
      const abort = () => {
        this.#forget(id)
        this.#native.cancel(id)
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
      this.#work.set(id, { state, signal, done: end(done), failed: end(reject) })
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
    const mail = new TextReader(this.#native.take())
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
        return rejection(payload, 0)
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
      this.#native.answer(id, valuesText(values))
    } catch (error) {
      work.readFailure = error
      this.#native.answerFailed(id)
    }
  }
}

function rejection(text: string, at: number): SimulationRejected {
  const reader = new TextReader(text, at)
  const code = reader.number() as ErrorCode
  const block = reader.number()
  const call = reader.word()
  return new SimulationRejected(code, reader.word(), block, call === '-' ? undefined : Number(call))
}

function refusal(error: unknown): unknown {
  const full = error instanceof Error && error.message === 'full'
  return full ? new RpcError(ErrorCode.limitExceeded, 'too many simulations at once', undefined, 503) : error
}
