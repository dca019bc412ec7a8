import type { Hex } from '@upfront/protocol'
import type { Chain } from './chain.js'
import { NodeRefusal } from './node-error.js'
import { SETTLEMENT_GAS_LIMIT } from './settlement-call.js'
import type { SettlementCall } from './state.js'

/** Gas limit of a settlement for an EOA. It uses 100,400 if the recipient never held the token. */
export const PLAIN_SETTLEMENT_GAS = 130_000n
/** Most gas that a settlement for an EOA uses. The payer pays for gas above this (a Safe uses some 50,000 more). */
const PLAIN_USE = 101_000n
/** Free gas for payer code in 24 hours: four signatures of a Safe. Creating a funded, approved new wallet costs as much. */
export const UNPAID_CODE_GAS = 200_000n
/** Gas added by a permit that sets the allowance for the first time. */
const PERMIT_GAS = 70_000n
/** Covers what an estimate on the newest block may miss: a payTo that never held the token, a rebasing token. */
const HEADROOM = { numerator: 13n, denominator: 10n, plus: 15_000n }

export interface SettlementGas {
  /** Gas limit of the transaction, including the permit. */
  gas: bigint
  /** The part above an ordinary settlement: the permit, the payer's code, an expensive token. */
  excess: bigint
}

/**
 * Simulates with the gas limit of an ordinary payer and, if this fails, with the highest limit of any settlement.
 * @returns `isOrdinary`: whether the ordinary limit was enough
 * @throws NodeFault, NodeRefusal, Revert
 */
export async function simulateWithinGas(
  chain: Chain,
  call: SettlementCall,
  hasPermit: boolean,
): Promise<{ answer: Hex; isOrdinary: boolean }> {
  const simulate = (gas: bigint) => chain.latest.simulateSettlement(call, gas)
  try {
    return { answer: await simulate(PLAIN_SETTLEMENT_GAS + (hasPermit ? PERMIT_GAS : 0n)), isOrdinary: true }
  } catch (error) {
    if (!(error instanceof NodeRefusal)) throw error
    // If a nested call runs out of gas, the outer contract may revert with an error of its own.
    return { answer: await simulate(SETTLEMENT_GAS_LIMIT), isOrdinary: false }
  }
}

/**
 * The gas needed to settle an authorization; estimated unless it is ordinary. `null` if it fails or needs more than any settlement gets.
 * Throws `NodeFault`.
 * @param isOrdinary the payer has no code, and the ordinary limit is enough
 */
export async function readSettlementGas(
  chain: Chain,
  call: SettlementCall,
  hasPermit: boolean,
  isOrdinary: boolean,
): Promise<SettlementGas | null> {
  const permit = hasPermit ? PERMIT_GAS : 0n
  if (isOrdinary) return { gas: PLAIN_SETTLEMENT_GAS + permit, excess: permit }
  const estimate = await chain.latest.estimateSettlement(call)
  if (estimate === null) return null
  const usual = PLAIN_USE + permit
  const own = estimate > usual ? estimate - usual : 0n
  return { gas: withHeadroom(estimate), excess: permit + own }
}

/** Gas limit for a settlement with this estimate. */
function withHeadroom(estimate: bigint): bigint {
  const gas = (estimate * HEADROOM.numerator) / HEADROOM.denominator + HEADROOM.plus
  return gas < SETTLEMENT_GAS_LIMIT ? gas : SETTLEMENT_GAS_LIMIT
}
