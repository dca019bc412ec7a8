import { type Awaitable, type Cancellation, type CancelSignal } from '@upfront/node'
import type { ErrorCode } from '@upfront/protocol'
import {
  type BlockStretch,
  type Engine,
  type ExecutedStretch,
  type PreconfirmationExecutor,
  type SimulationOutcome,
  type SimulationPlan,
  SimulationRejected,
  type StateSource,
  StretchRejected,
  type WrittenOutcome,
} from '@upfront/simulation'
import { type Addon, loadRevm } from './addon.js'
import { readRejection, writePlan } from './border/records.js'
import { TextReader } from './border/text.js'
import { LayerNumbers } from './layer-numbers.js'
import { NativeWork } from './native-work.js'
import { readOutcome, readWrittenOutcome } from './outcome-text.js'
import { readExecutedStretch, stretchText } from './stretch-text.js'

export interface RevmEngineOptions {
  /** Bound of the state kept between requests, estimated bytes. Default 64 MB. */
  cacheBytes?: number
  /** Threads at most: they wait for state, so more than there are cores. Default 64. */
  threads?: number
  /** Simulations that wait for a thread at most: one more is refused with HTTP 503. Default 1024. */
  queue?: number
}

export interface RevmEngine extends Engine, PreconfirmationExecutor {
  readonly name: 'revm'
}

/** @throws Error where the addon is not built: ask `loadRevm` first. */
export function createRevmEngine(options: RevmEngineOptions = {}): RevmEngine {
  const available = loadRevm()
  if (available.addon === undefined) throw new Error(available.reason)
  return new NativeBackedEngine(available.addon, options)
}

class NativeBackedEngine implements RevmEngine {
  readonly name = 'revm'
  readonly version: string
  readonly #work: NativeWork
  readonly #layers: LayerNumbers

  constructor(addon: Addon, { cacheBytes = 64 * 1024 * 1024, threads = 64, queue = 1024 }: RevmEngineOptions) {
    this.version = addon.REVM_VERSION
    this.#work = new NativeWork(addon, { cacheBytes, threads, queue })
    this.#layers = new LayerNumbers(this.#work.native)
  }

  async simulate(plan: SimulationPlan, state: StateSource, signal: CancelSignal): Promise<SimulationOutcome> {
    const outcome = (text: string) => readOutcome(text, plan)
    const start = this.#simulation(plan, state, false)
    return this.#work.run(state, { signal }, start, { outcome, rejection: simulationRejected })
  }

  write(plan: SimulationPlan, state: StateSource, cancellation: Cancellation): Awaitable<WrittenOutcome> {
    return this.#work.run(state, cancellation, this.#simulation(plan, state, true), WRITTEN)
  }

  #simulation(plan: SimulationPlan, state: StateSource, written: boolean) {
    const text = writePlan(plan)
    return (id: number) => this.#work.native.simulate(id, state.key, this.#layers.of(state.layers), text, written)
  }

  async execute(stretch: BlockStretch, state: StateSource, signal: CancelSignal): Promise<ExecutedStretch> {
    return this.#work.run(
      state,
      { signal },
      (id) => {
        this.#work.native.execute(id, state.key, this.#layers.of(state.layers), stretchText(stretch))
        return null
      },
      { outcome: (text) => readExecutedStretch(text, stretch), rejection: stretchRejected },
    )
  }

  async warm(stretch: BlockStretch, state: StateSource, signal: CancelSignal): Promise<void> {
    const each = stretch.transactions.map(async (raw) => {
      const alone = { ...stretch, transactions: [raw], earlierReceipts: [] }
      await this.#work.run(
        state,
        { signal },
        (id) => {
          this.#work.native.warm(id, state.key, this.#layers.of(state.layers), stretchText(alone))
          return null
        },
        { outcome: () => undefined, rejection: stretchRejected },
      )
    })
    await Promise.allSettled(each)
  }

  close(): Promise<void> {
    this.#work.close()
    return Promise.resolve()
  }
}

const WRITTEN = { outcome: readWrittenOutcome, rejection: simulationRejected }

function simulationRejected(text: string): SimulationRejected {
  const { code, block, call, message } = readRejection(new TextReader(text))
  return new SimulationRejected(code as ErrorCode, message, block, call)
}

function stretchRejected(text: string): StretchRejected {
  const { call, message } = readRejection(new TextReader(text))
  return new StretchRejected(message, call ?? 0)
}
