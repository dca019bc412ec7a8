import { readFileSync } from 'node:fs'
import type { Cancellation } from '@upfront/node'
import { ErrorCode, type Hash, type Hex, RpcError } from '@upfront/protocol'
import {
  type Answer,
  AnswerTooLong,
  type BlockStretch,
  type ChainRules,
  type Engine,
  type ExecutedStretch,
  layerValue,
  type PreconfirmationExecutor,
  type SimulationPlan,
  SimulationRejected,
  type StatePoint,
  type StateRead,
  type StateValue,
  type Step,
  StretchRejected,
} from '@upfront/simulation'
import type { JobState } from './pool/job.js'
import type { Ending, Work } from './pool/messages.js'
import { WorkerPool } from './pool/worker-pool.js'
import { KnownStates } from './state/known-states.js'

export interface EthereumJsEngineOptions {
  /** Threads that simulations share. Default 2. */
  threads?: number
  /** Bound of the state kept between requests, estimated bytes. Default 48 MB. */
  cacheBytes?: number
  /** Simulations under way at most: one more is refused with HTTP 503. Default 1024. */
  queue?: number
}

export interface EthereumJsEngine extends Engine, PreconfirmationExecutor {
  readonly name: 'ethereumjs'
}

/**
 * The portable engine: EthereumJS in worker threads, under Ethereum's rules from Paris to Osaka. It refuses OP-stack chains
 * with an RpcError.
 */
export function createEthereumJsEngine(options: EthereumJsEngineOptions = {}): EthereumJsEngine {
  return new PooledEngine(options)
}

class PooledEngine implements EthereumJsEngine {
  readonly name = 'ethereumjs'
  readonly version = evmVersion()
  readonly #pool: WorkerPool
  readonly #states: KnownStates
  #layers = 0

  constructor({ threads = 2, cacheBytes = 48 * 1024 * 1024, queue = 1024 }: EthereumJsEngineOptions) {
    this.#pool = new WorkerPool({ threads, jobs: queue })
    this.#states = new KnownStates(cacheBytes)
  }

  begin(plan: SimulationPlan, at: StatePoint, cancellation: Cancellation): Promise<Step<Answer>> {
    refuseOptimism(plan.rules)
    return this.#begin({ kind: 'simulate', plan }, at, cancellation, (ending) => {
      if (ending.kind === 'tooLong') throw new AnswerTooLong(plan.answerBytes)
      if (ending.kind !== 'simulated') throw failure(ending)
      return ending.answer
    })
  }

  execute(stretch: BlockStretch, at: StatePoint, cancellation: Cancellation): Promise<Step<ExecutedStretch>> {
    refuseOptimism(stretch.rules)
    return this.#begin({ kind: 'execute', stretch, validation: true }, at, cancellation, (ending) => {
      if (ending.kind !== 'executed') throw failure(ending)
      const { changes: accounts, ...executed } = ending.executed
      return { ...executed, layer: { id: `ethereumjs ${++this.#layers}`, accounts } }
    })
  }

  warm(transaction: Hex, stretch: BlockStretch, at: StatePoint, cancellation: Cancellation): Promise<Step<void>> {
    refuseOptimism(stretch.rules)
    const alone = { ...stretch, transactions: [transaction], earlierReceipts: [] }
    return this.#begin({ kind: 'execute', stretch: alone, validation: false }, at, cancellation, (ending) => {
      if (ending.kind !== 'executed' && ending.kind !== 'stretchRejected') throw failure(ending)
    })
  }

  missing(key: Hash, reads: readonly StateRead[]): StateRead[] {
    const values = this.known(key, reads)
    return reads.filter((_, index) => values[index] === undefined)
  }

  known(key: Hash, reads: readonly StateRead[]): (StateValue | undefined)[] {
    return this.#states.values(key, reads)
  }

  provide(key: Hash, reads: readonly StateRead[], values: readonly StateValue[]): void {
    this.#states.keep(key, reads, values)
  }

  close(): Promise<void> {
    return this.#pool.close()
  }

  #begin<T>(work: Work, at: StatePoint, { signal }: Cancellation, outcome: (ending: Ending) => T): Promise<Step<T>> {
    return this.#pool.begin({ work, state: this.#stateAt(at), signal, outcome })
  }

  #stateAt({ key, layers }: StatePoint): JobState {
    return {
      values: (reads) => {
        const below = this.known(key, reads)
        return reads.map((read, index) => layerValue(layers, read) ?? below[index])
      },
      keep: (reads, values) => this.provide(key, reads, values),
    }
  }
}

function refuseOptimism({ stack }: ChainRules): void {
  if (stack === 'ethereum') return
  throw new RpcError(
    ErrorCode.serverError,
    'the ethereumjs engine has no OP-stack rules: this chain needs the revm engine',
  )
}

function failure(ending: Ending): Error {
  switch (ending.kind) {
    case 'simulationRejected':
      return new SimulationRejected(ending.rejection, ending.block, ending.call)
    case 'stretchRejected':
      return new StretchRejected(ending.message, ending.transaction)
    case 'refused':
      return new RpcError(ending.code, ending.message)
    case 'failed':
      return Object.assign(new Error(ending.message), { stack: ending.stack })
    default:
      return new Error(`the worker answered "${ending.kind}" to another question`)
  }
}

function evmVersion(): string {
  const { dependencies } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'))
  return dependencies['@ethereumjs/evm']
}
