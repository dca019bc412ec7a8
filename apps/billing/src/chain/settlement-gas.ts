import type { Hex } from '@upfront/protocol'
import type { Chain } from './chain.js'
import { NodeRefusal } from './node-error.js'
import { SETTLEMENT_GAS_LIMIT } from './settlement-call.js'
import type { SettlementCall } from './state.js'

/** The gas limit of a settlement for an ordinary payer: it uses 95,800 where the recipient never held the token. */
export const PLAIN_SETTLEMENT_GAS = 130_000n
/** What one uses at most for an ordinary payer. What is used above that (by a Safe 50,000) is the payer's to pay. */
const PLAIN_USE = 96_000n
/** Gas of a payer's code in 24 hours that its payments need not have paid for: four signatures of a Safe. Making a new wallet, with tokens and its approval, takes as much. */
export const UNPAID_CODE_GAS = 200_000n
/** What a permit adds to a settlement that gives its allowance for the first time. */
const PERMIT_GAS = 70_000n
/** A payTo that never held the token, a rebasing token: what an estimate on the newest block may fall short of. */
const HEADROOM = { numerator: 13n, denominator: 10n, plus: 15_000n }

export interface SettlementGas {
  /** The gas limit of its transaction, permit included. */
  gas: bigint
  /** Of it, what an ordinary settlement does not take: its permit, and what the payer's code, or a costly token, uses. */
  excess: bigint
}

/**
 * Calls it as an ordinary payer's would be settled and, where that fails, with the most gas that any settlement gets.
 * @returns `isOrdinary`: an ordinary payer's gas is enough for it
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
    // A contract that calls another may revert, in words of its own, where that one has run out of gas.
    return { answer: await simulate(SETTLEMENT_GAS_LIMIT), isOrdinary: false }
  }
}

/**
 * The gas that the settlement of an authorization takes, by an estimate unless it is ordinary. `null`: it fails, or needs more than any
 * settlement gets. Throws `NodeFault`.
 * @param isOrdinary the payer has no code, and an ordinary payer's gas is enough
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

/** What the transaction of a settlement may use that was estimated to use so much. */
function withHeadroom(estimate: bigint): bigint {
  const gas = (estimate * HEADROOM.numerator) / HEADROOM.denominator + HEADROOM.plus
  return gas < SETTLEMENT_GAS_LIMIT ? gas : SETTLEMENT_GAS_LIMIT
}
