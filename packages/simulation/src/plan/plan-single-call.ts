import { type BlockHeader, type CallRequest, ErrorCode, RpcError, type SimulationLimits } from '@upfront/protocol'
import { checksumAddress } from 'viem'
import type { OpeningBlock } from '../block/pinned-block.js'
import type { ChainRules } from './chain-rules.js'
import { rulesOf } from './infer-chain-rules.js'
import { contradictionOf, planCall } from './plan-call.js'
import { planBlock } from './plan-simulation.js'
import { NO_RECORDING, type Recording } from './recording.js'
import type { SimulationPlan } from './simulation-plan.js'

const MAX_NUMBER = (1n << 64n) - 1n

/**
 * One call in the block after `base`, as `eth_call` runs it. Block overrides are applied unchecked: a number or time need not follow
 * `base`, and no gaps are filled.
 * @throws RpcError -32000 if the call is no transaction or the rules are unknown, -32602 for a number beyond 2^64
 */
export function planSingleCall(
  { call, stateOverrides, blockOverrides }: CallRequest,
  base: BlockHeader,
  rules: ChainRules,
  { gas: gasBudget, answerBytes }: Pick<SimulationLimits, 'gas' | 'answerBytes'>,
  opening: OpeningBlock,
  recording: Recording = NO_RECORDING,
): SimulationPlan {
  const fault = contradictionOf(call, rules.chainId)
  if (fault !== undefined) throw new RpcError(ErrorCode.serverError, fault)
  const double = stateOverrides.find(({ state, stateDiff }) => state !== undefined && stateDiff !== undefined)
  if (double !== undefined) {
    const words = `account ${checksumAddress(double.address)} has both 'state' and 'stateDiff'`
    throw new RpcError(ErrorCode.serverError, words)
  }
  const unused = (['beaconRoot', 'withdrawals'] as const).find((name) => blockOverrides[name] !== undefined)
  if (unused !== undefined) {
    const words = `block override "${unused}" is not supported for this RPC method`
    throw new RpcError(ErrorCode.serverError, words)
  }
  const overrides = { ...opening, ...blockOverrides }
  const { number = base.number + 1n, timestamp } = overrides
  if (number > MAX_NUMBER)
    throw new RpcError(ErrorCode.invalidParams, 'params[3].number: expected a block number below 2^64')
  const baseRules = rulesOf(base, rules)
  const before = {
    number: number - 1n,
    timestamp: timestamp === undefined ? base.timestamp : timestamp - 1n,
    gasLimit: base.gasLimit,
    feeRecipient: base.miner,
  }
  const context = { request: { validation: false }, base, baseRules, rules }
  const block = planBlock(overrides, stateOverrides, 0, before, context)
  block.calls.push(planCall(call))
  return {
    rules,
    base,
    baseRules,
    blocks: [block],
    validation: false,
    traceTransfers: false,
    gasBudget,
    returnFullTransactions: false,
    answerBytes,
    recording,
  }
}
