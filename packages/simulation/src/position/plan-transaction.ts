import type { BlockHeader, Hex, SimulationLimits } from '@upfront/protocol'
import type { SealedTransaction } from '../engine/block-carrier.js'
import type { PreconfirmedTransaction } from '../engine/preconfirmation-executor.js'
import type { ChainRules } from '../plan/chain-rules.js'
import { rulesOf } from '../plan/infer-chain-rules.js'
import { planBlock, planOfBlock } from '../plan/plan-simulation.js'
import { environmentOf } from '../plan/plan-traced-call.js'
import type { Recording } from '../plan/recording.js'
import type { PlannedCall, SimulationPlan } from '../plan/simulation-plan.js'

/** A block in which transactions are run again. */
export interface TransactionBlock {
  header: BlockHeader
  parent: BlockHeader
}

/**
 * A transaction as its block ran it, on the state after the preceding ones.
 * @throws RpcError -32000 if the block's rules are unknown
 */
export function planTransaction(
  sealed: SealedTransaction,
  executed: Pick<PreconfirmedTransaction, 'from' | 'raw'>,
  { header, parent }: TransactionBlock,
  rules: ChainRules,
  { answerBytes }: Pick<SimulationLimits, 'answerBytes'>,
  recording: Recording,
): SimulationPlan {
  const base = parentOf(header, parent)
  const context = { request: { validation: true }, base, baseRules: rulesOf(base, rules), rules }
  const overrides = environmentOf(header, rules)
  const before = { ...overrides, number: overrides.number - 1n, timestamp: overrides.timestamp - 1n }
  const block = planBlock(overrides, [], 0, before, context)
  block.isExecuted = true
  block.calls.push(plannedCall(sealed, executed.from, executed.raw))
  return planOfBlock(block, context, { gas: sealed.gas, answerBytes }, recording)
}

/** The parent, with its slot number set to the block's minus one: a simulated block increments it, though real slots may be empty. */
export function parentOf({ slotNumber }: BlockHeader, parent: BlockHeader): BlockHeader {
  return slotNumber === undefined ? parent : { ...parent, slotNumber: slotNumber - 1n }
}

function plannedCall(sealed: SealedTransaction, from: PlannedCall['from'], raw: Hex): PlannedCall {
  const { type, to, input, value, nonce, gas, accessList, deposit } = sealed
  const common = { from, to, input, value, gas, accessList }
  if (deposit !== undefined) return { ...common, type: 0, gasPrice: 0n, sealed: { raw, mint: deposit.mint } }
  const { gasPrice, maxFeePerGas, maxPriorityFeePerGas, maxFeePerBlobGas } = sealed
  return {
    ...common,
    type: type as PlannedCall['type'],
    nonce,
    ...(gasPrice !== undefined && { gasPrice }),
    ...(maxFeePerGas !== undefined && { maxFeePerGas }),
    ...(maxPriorityFeePerGas !== undefined && { maxPriorityFeePerGas }),
    ...(type === 3 && { blobVersionedHashes: sealed.blobVersionedHashes, maxFeePerBlobGas: maxFeePerBlobGas ?? 0n }),
    ...(type === 4 && { authorizationList: sealed.authorizationList }),
    sealed: { raw },
  }
}
