import type { Chain } from '../../chain/chain.js'
import { isOutOfGas, NodeRefusal, Revert } from '../../chain/node-error.js'
import { encodeSettlement, SETTLEMENT_GAS_LIMIT, settlementTarget } from '../../chain/settlement-call.js'
import type { PaymentRow, SignedTransactionRow } from '../../ledger/schema.js'
import type { Settlement, SigningQueue } from '../signers/signing-queue.js'

/** A payTo that never held the token, a rebasing token: what an estimate on the newest block may fall short of. */
const GAS_HEADROOM = { numerator: 13n, denominator: 10n, plus: 15_000n }

export type SubmitResult =
  /** Signed and stored; to be broadcast. */
  | { outcome: 'signed'; transaction: SignedTransactionRow }
  /** Another process was faster. */
  | { outcome: 'moved on' }
  /** It looks as if it could not be settled: to be judged by the chain's facts. */
  | { outcome: 'doubtful' }

/**
 * Estimates a charge's settlement and, where it would succeed, signs it and stores it. Also signs anew for a submitted
 * payment whose transactions can no longer be mined. Throws `NodeFault`.
 */
export async function submit(signing: SigningQueue, chain: Chain, payment: PaymentRow): Promise<SubmitResult> {
  const [settlement, fees] = await Promise.all([prepare(chain, payment), chain.fees()])
  if (settlement === null) return { outcome: 'doubtful' }
  const transaction = await signing.sign(chain, [settlement], fees)
  return transaction === null ? { outcome: 'moved on' } : { outcome: 'signed', transaction }
}

/** What would settle a charge; `null`: it looks as if it could not be settled. Throws `NodeFault`. */
export async function prepare(chain: Chain, payment: PaymentRow): Promise<Settlement | null> {
  if (payment.charge === null) throw new Error(`payment ${payment.id} was not charged`)
  if (payment.deadline < chain.head.now()) return null
  const call = encodeSettlement(payment, payment.charge)
  const estimate = await estimateSettlement(chain, payment, call)
  if (estimate === null || estimate > SETTLEMENT_GAS_LIMIT) return null
  const withHeadroom = (estimate * GAS_HEADROOM.numerator) / GAS_HEADROOM.denominator + GAS_HEADROOM.plus
  return { payment, call, gas: withHeadroom < SETTLEMENT_GAS_LIMIT ? withHeadroom : SETTLEMENT_GAS_LIMIT }
}

/** `null`: it reverts. */
async function estimateSettlement(chain: Chain, payment: PaymentRow, data: `0x${string}`): Promise<bigint | null> {
  try {
    return await chain.estimateSettlement(payment.facilitator, settlementTarget(payment), data)
  } catch (error) {
    if (error instanceof Revert || (error instanceof NodeRefusal && isOutOfGas(error))) return null
    throw error
  }
}
