import type { SimulationOutcome, SimulationPlan, StateSource } from '@upfront/simulation'

/** A simulation that somebody waits for. */
export interface Job {
  readonly id: number
  readonly plan: SimulationPlan
  readonly state: StateSource
  readonly signal: AbortSignal
  /** How often its thread died under it. */
  deaths: number
  resolve(outcome: SimulationOutcome): void
  reject(reason: unknown): void
}
