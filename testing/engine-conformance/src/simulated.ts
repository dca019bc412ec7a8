import type { Cancellation } from '@upfront/node'
import type { SimulatedBlock } from '@upfront/protocol'
import {
  type Answer,
  answerBlocks,
  type Engine,
  type SimulationPlan,
  type StateLayer,
  type StatePoint,
} from '@upfront/simulation'
import { developmentPoint, developmentState } from './development-chain.js'
import { drive, type ValueSource } from './drive.js'

export interface SimulatedOptions {
  at?: StatePoint
  source?: ValueSource
  cancellation?: Cancellation
}

/** Never aborts. */
export const NEVER: Cancellation = { signal: new AbortController().signal }

/** The result of a plan, by default on the development chain. */
export async function simulated(
  engine: Engine,
  plan: SimulationPlan,
  { at = developmentPoint, source = developmentState().state, cancellation = NEVER }: SimulatedOptions = {},
): Promise<Answer & { blocks: SimulatedBlock[] }> {
  const answer = await drive(engine.begin(plan, at, cancellation), source)
  return { ...answer, blocks: answerBlocks(answer, 'ethereum') }
}

/** `developmentPoint` with layers on top. */
export function underLayers(...layers: StateLayer[]): StatePoint {
  return { ...developmentPoint, layers }
}
