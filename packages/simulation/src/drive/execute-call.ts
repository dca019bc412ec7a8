import type { CallRequest, Hex } from '@upfront/protocol'
import type { FailedCall } from '../engine/engine.js'
import type { ChainRules } from '../plan/chain-rules.js'
import { planTracedCall, type TracedBlock } from '../plan/plan-traced-call.js'
import { NO_RECORDING } from '../plan/recording.js'
import { answerBlocks } from '../present/answer-json.js'
import type { DriveLimits, Driver } from './driver.js'
import type { PinnedState } from './pinned-state.js'

/** The block in which a single call runs, sealed or not, on the state after its transactions. */
export interface CallSite extends DriveLimits, TracedBlock {
  driver: Pick<Driver, 'simulate' | 'read'>
  rules: ChainRules
  state: PinnedState
  /** Gas limit for the call. */
  gasCap: bigint
  /** Limit of the answer's JSON. */
  answerBytes: number
}

/** The outcome of one call. */
export interface CallResult {
  /** After refunds. */
  gasUsed: bigint
  /** Before refunds, at least the calldata floor. */
  maxUsedGas: bigint
  /** Empty if the call failed. */
  returnData: Hex
  /** Set if the call failed. */
  failed?: FailedCall
}

/**
 * Runs one call in the block like `eth_call`: without a transaction's checks, except that the sender must have the value sent.
 * @throws RpcError -32000 if the call is no valid transaction; SimulationRejected; what `Driver.simulate` does
 */
export async function executeCall(request: CallRequest, site: CallSite): Promise<CallResult> {
  const { driver, rules, state, gasCap: gas, answerBytes } = site
  const plan = planTracedCall(request, site, rules, { gas, answerBytes }, NO_RECORDING)
  const answer = await driver.simulate(plan, state, site)
  const [failed] = answer.failures
  const { gasUsed, maxUsedGas, returnData } = answerBlocks(answer, 'ethereum')[0]!.calls[0]!
  return { gasUsed: BigInt(gasUsed), maxUsedGas: BigInt(maxUsedGas), returnData, ...(failed && { failed }) }
}
