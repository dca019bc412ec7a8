import type { Awaitable, Cancellation } from '@upfront/node'
import type { Hash, Hex } from '@upfront/protocol'
import {
  type Answer,
  type BlockCarrier,
  type BlockEncoder,
  type BlockExecution,
  type BlockExecutionResult,
  type BlockToCarry,
  type Carried,
  type Engine,
  ExecutionRejected,
  type ListedBlock,
  type PreconfirmationExecutor,
  type SimulationPlan,
  type StatePoint,
  type StateRead,
  type StateValue,
  type Step,
} from '@upfront/simulation'
import { type EngineCore, loadRevm } from './addon.js'
import {
  readCarried,
  readEncoded,
  readExecutionRejected,
  writeListedBlock,
  writePlan,
  writeRead,
} from './border/records.js'
import { list, TextReader } from './border/text.js'
import { EngineWork } from './engine-work.js'
import { blockText, executionText, readBlockExecutionResult } from './execution-text.js'
import { LayerNumbers } from './layer-numbers.js'
import { readAnswer, readRejection } from './outcome-text.js'
import { portableModule } from './portable/module.js'
import { PortableEngine } from './portable/portable-engine.js'
import { readValues, valuesText } from './values-text.js'
import { isLongPlan, writePlanInPieces } from './write-plan.js'

export interface RevmEngineOptions {
  /** Limit of the state cached between requests, in bytes, estimated. Default 64 MB. */
  cacheBytes?: number
  /**
   * Limit of EVM memory in all simulations together. Those that need much wait their turn; one that could need more than the limit runs
   * alone. Default 1 GiB.
   */
  memoryBytes?: number
  /** Maximum number of threads. Default: 512 natively, where they wait for state and share the cores; else 4. */
  threads?: number
  /** Maximum number of simulations waiting for a thread; the next one is refused with HTTP 503. Default 1024. */
  queue?: number
}

export interface RevmEngine extends Engine, PreconfirmationExecutor, BlockCarrier, BlockEncoder {
  readonly name: 'native' | 'portable'
  /** Whether any value of the state with this key is cached. */
  holds(key: Hash): boolean
}

/** The engine as the addon. @throws Error if it is not built, see `loadRevm` */
export function createRevmEngine(options: RevmEngineOptions = {}): RevmEngine {
  const { addon, reason } = loadRevm()
  if (addon === undefined) throw new Error(reason)
  const limits = limitsOf(options, 512)
  return new CoreEngine('native', (wake) => ({
    core: new addon.NativeEngine(limits, wake),
    version: addon.REVM_VERSION,
  }))
}

/** The engine as WebAssembly, which runs wherever Node does. */
export function createPortableEngine(options: RevmEngineOptions = {}): RevmEngine {
  const limits = limitsOf(options, 4)
  return new CoreEngine('portable', (wake) => {
    const core = new PortableEngine(portableModule() as WebAssembly.Module, limits, wake)
    return { core, version: core.version }
  })
}

function limitsOf(options: RevmEngineOptions, most: number) {
  const { cacheBytes = 64 * 1024 * 1024, memoryBytes = 1024 ** 3, threads = most, queue = 1024 } = options
  return { cacheBytes, memoryBytes, threads, queue }
}

class CoreEngine implements RevmEngine {
  readonly version: string
  readonly #work: EngineWork
  readonly #layers: LayerNumbers

  constructor(
    readonly name: RevmEngine['name'],
    create: (wake: () => void) => { core: EngineCore; version: string },
  ) {
    let version = ''
    this.#work = new EngineWork((wake) => {
      const made = create(wake)
      version = made.version
      return made.core
    })
    this.version = version
    this.#layers = new LayerNumbers(this.#work.core)
  }

  begin(plan: SimulationPlan, at: StatePoint, cancellation: Cancellation): Awaitable<Step<Answer>> {
    const format = { outcome: readAnswer, rejection: (rejection: string) => readRejection(rejection, plan) }
    const { core } = this.#work
    const start = (id: number, text: string) => core.begin(id, at.key, this.#layers.of(at.layers), text)
    if (!isLongPlan(plan)) return this.#work.begin(cancellation, (id) => start(id, writePlan(plan)), format)
    const pieces = (id: number) => writePlanInPieces(plan, (piece) => core.append(id, piece))
    return this.#work.beginInPieces(cancellation, pieces, start, format)
  }

  missing(key: Hash, reads: readonly StateRead[]): StateRead[] {
    const lacks = this.#work.core.missing(key, list(reads, writeRead))
    return reads.filter((_, index) => lacks[index] === '1')
  }

  known(key: Hash, reads: readonly StateRead[]): (StateValue | undefined)[] {
    return readValues(reads, this.#work.core.known(key, list(reads, writeRead)))
  }

  provide(key: Hash, reads: readonly StateRead[], values: readonly StateValue[]): void {
    this.#work.core.provide(key, list(reads, writeRead), valuesText(values))
  }

  execute(
    execution: BlockExecution,
    at: StatePoint,
    cancellation: Cancellation,
  ): Awaitable<Step<BlockExecutionResult>> {
    const outcome = (text: string) => readBlockExecutionResult(text, execution)
    return this.#start('execute', at, executionText(execution), cancellation, outcome)
  }

  prefetch(
    transaction: Hex,
    execution: BlockExecution,
    at: StatePoint,
    cancellation: Cancellation,
  ): Awaitable<Step<void>> {
    const alone = { ...execution, transactions: [transaction], earlierReceipts: [] }
    return this.#start('prefetch', at, executionText(alone), cancellation, () => undefined)
  }

  carry(block: BlockToCarry, at: StatePoint, cancellation: Cancellation): Awaitable<Step<Carried>> {
    return this.#start('carry', at, blockText(block), cancellation, (text) => readCarried(new TextReader(text)))
  }

  carryListed(block: ListedBlock, at: StatePoint, cancellation: Cancellation): Awaitable<Step<Carried>> {
    // The list crosses separately: joining it with the rest would copy it.
    const outcome = (text: string) => readCarried(new TextReader(text))
    return this.#start('carryListed', at, writeListedBlock(block), cancellation, outcome, block.accessList)
  }

  encode(block: BlockToCarry, cancellation: Cancellation): Awaitable<Step<Hex[]>> {
    const outcome = (text: string) => readEncoded(new TextReader(text)).transactions
    return this.#start('encode', { key: block.hash, layers: [] }, blockText(block), cancellation, outcome)
  }

  holds(key: Hash): boolean {
    return this.#work.core.holds(key)
  }

  clearCache(): void {
    this.#work.core.clearCache()
  }

  close(): Promise<void> {
    return this.#work.close()
  }

  #start<T>(
    kind: string,
    { key, layers }: StatePoint,
    text: string,
    cancellation: Cancellation,
    outcome: (text: string) => T,
    apart?: string,
  ): Awaitable<Step<T>> {
    const start = (id: number) => {
      if (apart !== undefined) this.#work.core.append(id, apart)
      this.#work.core.start(id, kind, key, this.#layers.of(layers), text)
      return null
    }
    return this.#work.begin(cancellation, start, { outcome, rejection: executionRejected })
  }
}

function executionRejected(text: string): ExecutionRejected {
  const { transaction, message, nativePrecompile } = readExecutionRejected(new TextReader(text))
  return new ExecutionRejected(message, transaction, nativePrecompile)
}
