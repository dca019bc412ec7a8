import type { OpeningBlock } from '@upfront/head'
import { type BlockHeader, type CallRequest, ErrorCode, type Hex, RpcError } from '@upfront/protocol'
import type { FailedCall } from '../engine/engine.js'
import { SimulationRejected } from '../engine/simulation-rejected.js'
import type { ChainRules } from '../plan/chain-rules.js'
import { planSingleCall } from '../plan/plan-single-call.js'
import { answerBlocks } from '../present/answer-json.js'
import { presentRejection } from '../present/present-rejection.js'
import type { DriveLimits, Driver } from './driver.js'
import type { PinnedState } from './pinned-state.js'

/** Where a single call runs: inside a block that is not sealed yet. */
export interface CallSite extends DriveLimits {
  driver: Pick<Driver, 'simulate' | 'read'>
  rules: ChainRules
  /** Parent of the block under construction. */
  base: BlockHeader
  /** The block under construction, and the rules that apply to it. */
  opening: OpeningBlock & { gasLimit: bigint }
  state: PinnedState
  /** Gas that a call gets at most. */
  gasCap: bigint
  /** Of the answer's JSON. */
  answerBytes: number
}

/** The outcome of one call. */
export interface CallResult {
  /** After refunds. */
  gasUsed: bigint
  /** Before refunds, at least the calldata floor. */
  maxUsedGas: bigint
  /** Empty where the call failed. */
  returnData: Hex
  /** Set where the call failed. */
  failed?: FailedCall
}

/**
 * Runs one call in the block under construction, as `eth_call` does: nothing is checked that a real transaction would need,
 * save that the sender has the value it sends.
 * @throws RpcError -32000 where the call is no transaction, in geth's words; what `Driver.simulate` does
 */
export async function executeCall(request: CallRequest, site: CallSite): Promise<CallResult> {
  const { driver, rules, base, opening, state, gasCap, answerBytes } = site
  const most = least(opening.gasLimit, gasCap)
  const wanted = request.call.gas ?? most
  const plan = planSingleCall(
    { ...request, call: { ...request.call, gas: least(wanted, most) } },
    base,
    rules,
    { gas: most, answerBytes },
    opening,
  )
  try {
    const answer = await driver.simulate(plan, state, site)
    const [failed] = answer.failures
    const { gasUsed, maxUsedGas, returnData } = answerBlocks(answer, 'ethereum')[0]!.calls[0]!
    return { gasUsed: BigInt(gasUsed), maxUsedGas: BigInt(maxUsedGas), returnData, ...(failed && { failed }) }
  } catch (error) {
    if (error instanceof SimulationRejected)
      throw new RpcError(ErrorCode.serverError, presentRejection(error.rejection).message)
    throw error
  }
}

function least(a: bigint, b: bigint): bigint {
  return a < b ? a : b
}
