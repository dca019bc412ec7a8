import type { Chain } from '../../chain/chain.js'
import { encodeSettlement, settlementTarget } from '../../chain/settlement-call.js'
import type { PaymentRow, SignedTransactionRow } from '../../ledger/schema.js'
import type { Settlement, SigningQueue } from '../signers/signing-queue.js'

export type SubmitResult =
  /** Signed and stored; to be broadcast. */
  | { outcome: 'signed'; transaction: SignedTransactionRow }
  /** Another process was faster. */
  | { outcome: 'moved on' }
  /** It looks as if it could not be settled: to be judged by the chain's facts. */
  | { outcome: 'doubtful' }

/**
 * Simulates a charge's settlement and, where it would succeed, signs it and stores it. Also signs anew for a submitted
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
  if (payment.deadline < (await chain.head.nextTimestamp())) return null
  const call = encodeSettlement(payment, payment.charge)
  const { facilitator, settlementGas: gas } = payment
  // As much gas as was verified, and promised for it: what needs more is not what was verified.
  return (await chain.wouldSettle(facilitator, settlementTarget(payment), call, gas)) ? { payment, call, gas } : null
}
