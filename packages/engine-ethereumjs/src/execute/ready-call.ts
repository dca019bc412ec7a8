import type { PlannedCall, SimulationPlan } from '@upfront/simulation'

/** The parts of the plan that a single call depends on. */
export type CallTerms = Pick<SimulationPlan, 'rules' | 'validation'>

/** A call ready to run: gas and nonce filled in. */
export interface ReadyCall {
  call: PlannedCall
  gas: bigint
  nonce: bigint
  /** `gas` is what the request's budget had left: the call wanted more. */
  gasCapped: boolean
}
