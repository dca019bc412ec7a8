import { randomBytes } from 'node:crypto'
import type { Awaitable } from '@upfront/node'
import type { Hash } from '@upfront/protocol'
import type { Answer, DriveLimits, Engine, SimulationPlan, StateRead, StateValue } from '@upfront/simulation'

/** Executes a plan on an engine without cached state, so that every value it needs is read through `read`. */
export class ReadingDriver {
  readonly #engine: Engine
  readonly #read: (reads: readonly StateRead[]) => Awaitable<readonly StateValue[]>

  /** @param read returns values in the order of its reads, including those of pre-confirmed state */
  constructor(engine: Engine, read: (reads: readonly StateRead[]) => Awaitable<readonly StateValue[]>) {
    this.#engine = engine
    this.#read = read
  }

  /** @throws or rejects with the errors of `Engine.begin` and `read` */
  async simulate(
    plan: SimulationPlan,
    _at: unknown,
    { cancellation }: Pick<DriveLimits, 'cancellation'>,
  ): Promise<Answer> {
    const key: Hash = `0x${randomBytes(32).toString('hex')}`
    let step = await this.#engine.begin(plan, { key, layers: [] }, cancellation)
    while (step.kind === 'lacking') {
      let values: readonly StateValue[]
      try {
        values = await this.#read(step.reads)
      } catch (error) {
        step.abandon()
        throw error
      }
      step = await step.resume(values)
    }
    return step.outcome
  }
}
