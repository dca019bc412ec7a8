import {
  type BlockHeader,
  type Call,
  type CallRequest,
  ErrorCode,
  RpcError,
  type SimulationLimits,
  ZERO_HASH,
} from '@upfront/protocol'
import { checksumAddress } from 'viem'
import type { OpeningBlock } from '../block/pinned-block.js'
import { blobBaseFee } from './blob-gas.js'
import type { ChainRules } from './chain-rules.js'
import { rulesOf } from './infer-chain-rules.js'
import { contradictionOf, planCall } from './plan-call.js'
import { planBlock, planOfBlock } from './plan-simulation.js'
import type { Recording } from './recording.js'
import { rulesAt } from './rules-at.js'
import type { SimulationPlan } from './simulation-plan.js'

const MAX_NUMBER = (1n << 64n) - 1n

/** The block in which a call is traced: sealed, or under construction on `base`. */
export interface TracedBlock {
  base: BlockHeader
  opening?: OpeningBlock | undefined
}

/**
 * A call as geth's `debug_traceCall` and `eth_createAccessList` run it: inside the block, on the state after its transactions. If an
 * override sets the number to a sealed block's plus one, the call runs in the next block, and BLOCKHASH knows the sealed one; otherwise it
 * knows hashes from the block's parent downwards. Overrides are applied unchecked: a number or time need not follow the parent, and no
 * gaps are filled.
 * @throws RpcError -32000 if the call is no transaction or the rules are unknown, -32602 for a number beyond 2^64
 */
export function planTracedCall(
  request: CallRequest,
  block: TracedBlock,
  rules: ChainRules,
  { gas: cap, answerBytes }: Pick<SimulationLimits, 'gas' | 'answerBytes'>,
  recording: Recording,
): SimulationPlan {
  const { call, stateOverrides, blockOverrides } = request
  checkRequest(request, rules)
  const { parent: base, opening } =
    block.opening === undefined ? sealed(block.base, request, rules) : { parent: block.base, opening: block.opening }
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
  const planned = planBlock(overrides, stateOverrides, 0, before, context)
  planned.isExecuted = true
  // As in geth, so that a call without a price can pay the base fee.
  if (!isPriced(call)) planned.baseFeePerGas = 0n
  // A node's own pending block does not state its base fee: derive it from the parent.
  else if (overrides.baseFeePerGas === undefined) delete planned.baseFeePerGas
  if (call.blobVersionedHashes !== undefined && (call.maxFeePerBlobGas ?? 0n) === 0n) planned.blobBaseFee = 0n
  const isBounded = call.gas !== undefined && call.gas < cap
  planned.calls.push(planCall(isBounded ? call : { ...call, gas: cap }))
  return planOfBlock(planned, context, { gas: cap, answerBytes }, recording)
}

/** @throws RpcError -32000 */
function checkRequest({ call, stateOverrides, blockOverrides }: CallRequest, { chainId }: ChainRules): void {
  const double = stateOverrides.find(({ state, stateDiff }) => state !== undefined && stateDiff !== undefined)
  const unused = (['beaconRoot', 'withdrawals'] as const).find((name) => blockOverrides[name] !== undefined)
  const fault =
    contradictionOf(call, chainId) ??
    (double && `account ${checksumAddress(double.address)} has both 'state' and 'stateDiff'`) ??
    (unused && `block override "${unused}" is not supported for this RPC method`)
  if (fault !== undefined) throw new RpcError(ErrorCode.serverError, fault)
}

function sealed(block: BlockHeader, { blockOverrides }: CallRequest, rules: ChainRules) {
  const isNext = blockOverrides.number === block.number + 1n
  return { parent: isNext ? block : { ...block, hash: ZERO_HASH }, opening: environmentOf(block, rules) }
}

/** The environment of a sealed block, for running something in it again. */
export function environmentOf(header: BlockHeader, rules: ChainRules) {
  const { number, timestamp, gasLimit, miner, mixHash, baseFeePerGas = 0n, excessBlobGas = 0n } = header
  const fraction = rulesAt(rules, number, timestamp)?.blob?.baseFeeUpdateFraction
  return {
    ...{ number, timestamp, gasLimit, feeRecipient: miner, prevRandao: mixHash, baseFeePerGas },
    ...(fraction !== undefined && { blobBaseFee: blobBaseFee(excessBlobGas, fraction) }),
  }
}

function isPriced({ gasPrice = 0n, maxFeePerGas = 0n, maxPriorityFeePerGas = 0n }: Call): boolean {
  return gasPrice > 0n || maxFeePerGas > 0n || maxPriorityFeePerGas > 0n
}
