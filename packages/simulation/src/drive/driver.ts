import { setImmediate as nextTurn } from 'node:timers/promises'
import type { CallQueue, Cancellation, UpstreamClient } from '@upfront/node'
import {
  type Awaitable,
  andThen,
  catchError,
  traced,
  UpstreamError,
  UpstreamFault,
  type UpstreamObserver,
  withinLimits,
} from '@upfront/node'
import type { BlockHeader } from '@upfront/protocol'
import type { Answer, Engine } from '../engine/engine.js'
import { layerValue } from '../engine/layer-value.js'
import { type Rejection, SimulationRejected } from '../engine/simulation-rejected.js'
import { readKey, type StateRead, type StateValue } from '../engine/state.js'
import type { Lacking, Step } from '../engine/step.js'
import type { SimulationPlan } from '../plan/simulation-plan.js'
import { BlockHints } from './block-hints.js'
import { Hints } from './hints.js'
import type { ReadOutcome } from './in-flight-reads.js'
import type { PinnedState } from './pinned-state.js'
import type { ReadBudget } from './read-budget.js'
import { provide, StateReads } from './state-reads.js'
import type { HintedCall, OnLack } from './touch-hints.js'

/** Limits of one request's reads. */
export interface DriveLimits {
  budget: ReadBudget
  cancellation: Cancellation
}

export interface DriverOptions {
  /** Whether to ask the node what calls to unseen contracts touch. */
  hints: boolean
  /** Called with the reason if the engine rejects a plan. */
  onRejected?: (rejection: Rejection) => void
}

/** The read loop: runs an engine, reads missing state from the node, and resumes the engine until it is done. */
export class Driver {
  readonly #engine: Engine
  readonly #reads: StateReads
  readonly #hints: Hints
  readonly #blockHints: BlockHints
  readonly #observer: UpstreamObserver
  readonly #onRejected: DriverOptions['onRejected']
  readonly #silent: () => Error

  constructor(engine: Engine, client: UpstreamClient, queue: CallQueue, options: DriverOptions = { hints: true }) {
    const { label, observer } = client
    const onWorkaround = (lacks: string) => observer.onWorkaround?.({ upstream: label, lacks })
    const reads = new StateReads(queue, engine, label, onWorkaround)
    this.#engine = engine
    this.#reads = reads
    this.#hints = new Hints(queue, reads, onWorkaround, options.hints)
    this.#blockHints = new BlockHints(client, queue, reads, onWorkaround, options.hints)
    this.#observer = observer
    this.#onRejected = options.onRejected
    this.#silent = () => new UpstreamError(new UpstreamFault('timeout', 'no answer in time'), label, 'reading state', 1)
  }

  /**
   * Executes a plan; synchronously if the engine returns the answer at once.
   * @throws or rejects with what `Engine.begin` does; UpstreamError, BlockMoved; RpcError -32005 over the budget
   */
  simulate(plan: SimulationPlan, at: PinnedState, limits: DriveLimits): Awaitable<Answer> {
    const onLack = this.#hints.onLack(plan, at)
    return catchError(
      () => this.run(() => this.#engine.begin(plan, at, limits.cancellation), at, limits, onLack),
      (error) => {
        if (error instanceof SimulationRejected) this.#onRejected?.(error.rejection)
        throw error
      },
    )
  }

  /**
   * Runs the work that `begin` starts to its result.
   * @throws or rejects with what the work does; UpstreamError, BlockMoved; RpcError -32005 over the budget
   */
  run<T>(begin: () => Awaitable<Step<T>>, at: PinnedState, limits: DriveLimits, onLack?: OnLack): Awaitable<T> {
    return andThen(traced('execute', begin), (step) =>
      step.kind === 'done' ? step.outcome : this.#drive(step, begin, at, limits, onLack),
    )
  }

  /** An `onLack` for `run` that reads ahead what executing a block on `at`, its parent's state, needs, as named by the node. */
  createOnLack(header: BlockHeader, calls: () => HintedCall['call'][], at: PinnedState): OnLack {
    return this.#blockHints.onLack(header, calls, at)
  }

  /**
   * Values in the order of `reads`, from the layers, else the engine, else the node.
   * @throws or rejects with UpstreamError, BlockMoved; RpcError -32005 over the budget
   */
  async read(reads: readonly StateRead[], at: PinnedState, limits: DriveLimits): Promise<StateValue[]> {
    const known = this.#engine.known(at.key, reads)
    const values = reads.map((read, index) => layerValue(at.layers, read) ?? known[index])
    const missing = reads.filter((_, index) => values[index] === undefined)
    if (missing.length === 0) return values as StateValue[]
    const read = await this.readAtNode(missing, at, limits)
    this.#engine.provide(at.key, missing, read)
    let next = 0
    return values.map((value) => value ?? read[next++]!)
  }

  /**
   * The node's values in the order of `reads`; layers and engine are ignored.
   * @throws or rejects with UpstreamError, BlockMoved; RpcError -32005 over the budget
   */
  async readAtNode(reads: readonly StateRead[], at: PinnedState, limits: DriveLimits): Promise<StateValue[]> {
    const outcomes = await this.#read(reads, at, limits)
    const error = outcomes.find(isError)
    if (error !== undefined) throw error
    return outcomes as StateValue[]
  }

  /** Reads values into the engine before they are needed. Failures are ignored: the value is then read on demand. */
  readAhead(reads: readonly StateRead[], at: PinnedState): void {
    void this.#reads.askAhead(at, reads)
  }

  /**
   * Some of the missing values are guesses of the engine. If a read fails, the work begins again with the values that could be read, and
   * fails only if nothing else is missing.
   */
  async #drive<T>(
    first: Lacking<T>,
    begin: () => Awaitable<Step<T>>,
    at: PinnedState,
    limits: DriveLimits,
    onLack?: OnLack,
  ): Promise<T> {
    let step: Step<T> = first
    const unread = new Map<string, UpstreamError>()
    for (let round = 1; step.kind === 'lacking'; round += 1) {
      const lacking: Lacking<T> = step
      const isOpen = (read: StateRead) => unread.size === 0 || !unread.has(readKey(read))
      const { guessesLeft } = limits.budget
      // If only guesses are missing, the engine can't go on without them. Once the guesses are used up, they count as needed.
      const needed = lacking.certain === 0 && guessesLeft === 0 ? lacking.reads.length : lacking.certain
      const certain = lacking.reads.slice(0, needed).filter(isOpen)
      const guessed = lacking.reads.slice(needed).filter(isOpen).slice(0, guessesLeft)
      const reads = [...certain, ...guessed]
      let outcomes: ReadOutcome[]
      try {
        const more = onLack?.(lacking.reads, round)
        outcomes = await this.#read(reads, at, limits, guessed.length)
        if (more !== undefined) {
          // Results that came in the same response are handed out first.
          await nextTurn()
          await more()
        }
        outcomes.forEach((outcome, index) => {
          if (isError(outcome)) unread.set(readKey(reads[index]!), outcome)
        })
        if (outcomes.every(isError)) throw unread.get(readKey(lacking.reads[0]!))!
      } catch (error) {
        lacking.abandon()
        throw error
      }
      const isWhole = outcomes.length === lacking.reads.length && !outcomes.some(isError)
      if (!isWhole) {
        lacking.abandon()
        provide(this.#engine, at.key, reads, outcomes)
      }
      const next: Awaitable<Step<T>> = traced('execute', () =>
        isWhole ? lacking.resume(outcomes as StateValue[]) : begin(),
      )
      step = next instanceof Promise ? await next : next
    }
    return step.outcome
  }

  #read(reads: readonly StateRead[], at: PinnedState, limits: DriveLimits, guessed = 0): Promise<ReadOutcome[]> {
    return traced('read', () => this.#readAtNode(reads, at, limits, guessed), { attributes: { values: reads.length } })
  }

  async #readAtNode(
    reads: readonly StateRead[],
    { block }: PinnedState,
    { budget, cancellation: { signal } }: DriveLimits,
    guessed: number,
  ): Promise<ReadOutcome[]> {
    signal.throwIfAborted()
    budget.take(reads.length, guessed)
    const since = performance.now()
    const late = () => (budget.isNodeToBlame(since) ? this.#silent() : budget.timeoutError())
    const asked = this.#reads.ask(block, reads)
    this.#observer.onReads?.({ hits: asked.merged, misses: reads.length - asked.merged })
    try {
      return await withinLimits(asked.outcomes, { signal, deadline: budget.deadline }, late)
    } finally {
      asked.leave()
    }
  }
}

function isError(outcome: ReadOutcome): outcome is UpstreamError {
  return outcome instanceof UpstreamError
}
