import type { Address, Hex } from '@upfront/protocol'
import type { Chain } from './chain.js'
import { isOutOfGas, NodeRefusal, Revert } from './node-error.js'
import { SETTLEMENT_GAS_LIMIT, type SignedTerms } from './settlement-call.js'

/** The gas limit of a settlement for an ordinary payer: it uses 95,800 where the recipient never held the token. */
export const PLAIN_SETTLEMENT_GAS = 130_000n
/** What one uses at most for an ordinary payer. What a payer's code uses above that (a Safe's 50,000) is somebody else's to pay. */
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
  /** Of it, what an ordinary settlement does not take: its permit, and what the payer's code uses. */
  excess: bigint
}

/**
 * The gas that the settlement of an authorization takes, by simulation where the payer has code. `null`: it fails, or needs more than any
 * settlement gets. Throws `NodeFault`.
 */
export async function readSettlementGas(
  chain: Chain,
  payerCode: Hex,
  { facilitator, permitSignature, target }: Pick<SignedTerms, 'facilitator' | 'permitSignature'> & { target: Address },
  settlement: Hex,
): Promise<SettlementGas | null> {
  const permit = permitSignature === null ? 0n : PERMIT_GAS
  if (payerCode === '0x') return { gas: PLAIN_SETTLEMENT_GAS + permit, excess: permit }
  const estimate = await estimateGas(chain, facilitator, target, settlement)
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

/** `null`: it reverts, or needs more than any settlement gets. Throws `NodeFault`. */
async function estimateGas(chain: Chain, facilitator: Address, target: Address, data: Hex): Promise<bigint | null> {
  try {
    const estimate = await chain.estimateSettlement(facilitator, target, data)
    return estimate > SETTLEMENT_GAS_LIMIT ? null : estimate
  } catch (error) {
    if (error instanceof Revert || (error instanceof NodeRefusal && isOutOfGas(error))) return null
    throw error
  }
}
