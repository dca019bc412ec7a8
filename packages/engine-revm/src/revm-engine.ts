import { type Awaitable, type Cancellation, inTurns } from '@upfront/node'
import type { Hash, Hex } from '@upfront/protocol'
import {
  type Answer,
  AnswerTooLong,
  type BlockCarrier,
  type BlockStretch,
  type BlockToCarry,
  type Carried,
  type Engine,
  type ExecutedStretch,
  type PreconfirmationExecutor,
  type SimulationPlan,
  SimulationRejected,
  type StatePoint,
  type StateRead,
  type StateValue,
  type Step,
  StretchRejected,
} from '@upfront/simulation'
import { type Addon, loadRevm } from './addon.js'
import { readCarried, readRejected, readStretchRejected, writePlan, writeRead } from './border/records.js'
import { list, TextReader } from './border/text.js'
import { LayerNumbers } from './layer-numbers.js'
import { NativeWork, valuesText } from './native-work.js'
import { readAnswer } from './outcome-text.js'
import { blockText, readExecutedStretch, stretchText } from './stretch-text.js'
import { isLongPlan, writePlanInParts } from './write-plan.js'

export interface RevmEngineOptions {
  /** Bound of the state kept between requests, estimated bytes. Default 64 MB. */
  cacheBytes?: number
  /**
   * Bound of the EVM's memory in all simulations together. Those that need much wait for their turn; one that alone could need more runs
   * alone. Default 1 GiB.
   */
  memoryBytes?: number
  /** Threads at most: they wait for state, so more than there are cores. Default 64. */
  threads?: number
  /** Simulations that wait for a thread at most: one more is refused with HTTP 503. Default 1024. */
  queue?: number
}

export interface RevmEngine extends Engine, PreconfirmationExecutor, BlockCarrier {
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

  constructor(addon: Addon, options: RevmEngineOptions) {
    const { cacheBytes = 64 * 1024 * 1024, memoryBytes = 1024 ** 3, threads = 64, queue = 1024 } = options
    this.version = addon.REVM_VERSION
    this.#work = new NativeWork(addon, { cacheBytes, memoryBytes, threads, queue })
    this.#layers = new LayerNumbers(this.#work.native)
  }

  begin(plan: SimulationPlan, at: StatePoint, cancellation: Cancellation): Awaitable<Step<Answer>> {
    if (!isLongPlan(plan)) return this.#begin(writePlan(plan), plan, at, cancellation)
    return inTurns(writePlanInParts(plan), cancellation).then((text) => this.#begin(text, plan, at, cancellation))
  }

  #begin(text: string, plan: SimulationPlan, at: StatePoint, cancellation: Cancellation): Awaitable<Step<Answer>> {
    return this.#work.begin(
      cancellation,
      (id) => this.#work.native.begin(id, at.key, this.#layers.of(at.layers), text),
      { outcome: readAnswer, rejection: (rejection) => simulationRejected(rejection, plan) },
    )
  }

  missing(key: Hash, reads: readonly StateRead[]): StateRead[] {
    const lacks = this.#work.native.missing(key, list(reads, writeRead))
    return reads.filter((_, index) => lacks[index] === '1')
  }

  known(key: Hash, reads: readonly StateRead[]): (StateValue | undefined)[] {
    const reader = new TextReader(this.#work.native.known(key, list(reads, writeRead)))
    return reads.map(({ kind }) => reader.optional(() => (isQuantity(kind) ? reader.bigint() : reader.hex())))
  }

  provide(key: Hash, reads: readonly StateRead[], values: readonly StateValue[]): void {
    this.#work.native.provide(key, list(reads, writeRead), valuesText(values))
  }

  execute(stretch: BlockStretch, at: StatePoint, cancellation: Cancellation): Awaitable<Step<ExecutedStretch>> {
    return this.#work.begin(
      cancellation,
      (id) => {
        this.#work.native.execute(id, at.key, this.#layers.of(at.layers), stretchText(stretch))
        return null
      },
      { outcome: (text) => readExecutedStretch(text, stretch), rejection: stretchRejected },
    )
  }

  warm(transaction: Hex, stretch: BlockStretch, at: StatePoint, cancellation: Cancellation): Awaitable<Step<void>> {
    const alone = { ...stretch, transactions: [transaction], earlierReceipts: [] }
    return this.#work.begin(
      cancellation,
      (id) => {
        this.#work.native.warm(id, at.key, this.#layers.of(at.layers), stretchText(alone))
        return null
      },
      { outcome: () => undefined, rejection: stretchRejected },
    )
  }

  carry(block: BlockToCarry, at: StatePoint, cancellation: Cancellation): Awaitable<Step<Carried>> {
    return this.#work.begin(
      cancellation,
      (id) => {
        this.#work.native.carry(id, at.key, this.#layers.of(at.layers), blockText(block))
        return null
      },
      { outcome: (text) => readCarried(new TextReader(text)), rejection: stretchRejected },
    )
  }

  holds(key: Hash): boolean {
    return this.#work.native.holds(key)
  }

  forget(): void {
    this.#work.native.forget()
  }

  close(): Promise<void> {
    this.#work.close()
    return Promise.resolve()
  }
}

function isQuantity(kind: StateRead['kind']): boolean {
  return kind === 'balance' || kind === 'nonce'
}

function simulationRejected(text: string, plan: SimulationPlan): Error {
  const { rejection, block, call } = readRejected(new TextReader(text))
  return rejection === undefined ? new AnswerTooLong(plan.answerBytes) : new SimulationRejected(rejection, block, call)
}

function stretchRejected(text: string): StretchRejected {
  const { transaction, message, nativePrecompile } = readStretchRejected(new TextReader(text))
  return new StretchRejected(message, transaction, nativePrecompile)
}
