import { type BlockHeader, type Call, type CallRequest, type SimulationLimits, ZERO_HASH } from '@upfront/protocol'
import type { OpeningBlock } from '../block/pinned-block.js'
import { blobBaseFee } from './blob-gas.js'
import type { ChainRules } from './chain-rules.js'
import { planSingleCall } from './plan-single-call.js'
import type { Recording } from './recording.js'
import { rulesAt } from './rules-at.js'
import type { SimulationPlan } from './simulation-plan.js'

/** The block in which a call is traced: sealed, or under construction on `base`. */
export interface TracedBlock {
  base: BlockHeader
  opening?: OpeningBlock | undefined
}

/**
 * A call as geth's `debug_traceCall` and `eth_createAccessList` run it: inside the block, on the state after its transactions. If an
 * override sets the number to a sealed block's plus one, the call runs in the next block, and BLOCKHASH knows the sealed one; otherwise it
 * knows hashes from the block's parent downwards.
 * @throws RpcError -32000 if the call is no transaction, or the rules are unknown
 */
export function planTracedCall(
  request: CallRequest,
  block: TracedBlock,
  rules: ChainRules,
  limits: Pick<SimulationLimits, 'gas' | 'answerBytes'>,
  recording: Recording,
): SimulationPlan {
  const { call } = request
  const { gas: cap } = limits
  const isBounded = call.gas !== undefined && call.gas < cap
  const bounded = isBounded ? request : { ...request, call: { ...call, gas: cap } }
  const { parent, opening } =
    block.opening === undefined ? sealed(block.base, request, rules) : { parent: block.base, opening: block.opening }
  const plan = planSingleCall(bounded, parent, rules, limits, opening, recording)
  for (const planned of plan.blocks) {
    planned.isExecuted = true
    // As in geth, so that a call without a price can pay the base fee.
    if (!isPriced(call)) planned.baseFeePerGas = 0n
    // A node's own pending block does not state its base fee: derive it from the parent.
    else if (opening.baseFeePerGas === undefined && request.blockOverrides.baseFeePerGas === undefined)
      delete planned.baseFeePerGas
    if (call.blobVersionedHashes !== undefined && (call.maxFeePerBlobGas ?? 0n) === 0n) planned.blobBaseFee = 0n
  }
  return plan
}

function sealed(block: BlockHeader, { blockOverrides }: CallRequest, rules: ChainRules) {
  const { number, timestamp, gasLimit, miner, mixHash, excessBlobGas } = block
  const isNext = blockOverrides.number === number + 1n
  const fraction = rulesAt(rules, number, timestamp)?.blob?.baseFeeUpdateFraction
  const opening = {
    number,
    timestamp,
    gasLimit,
    feeRecipient: miner,
    prevRandao: mixHash,
    baseFeePerGas: block.baseFeePerGas ?? 0n,
    ...(fraction !== undefined && { blobBaseFee: blobBaseFee(excessBlobGas ?? 0n, fraction) }),
  }
  return { parent: isNext ? block : { ...block, hash: ZERO_HASH }, opening }
}

function isPriced({ gasPrice = 0n, maxFeePerGas = 0n, maxPriorityFeePerGas = 0n }: Call): boolean {
  return gasPrice > 0n || maxFeePerGas > 0n || maxPriorityFeePerGas > 0n
}
