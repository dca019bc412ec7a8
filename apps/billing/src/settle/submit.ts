import { RefusalReason } from '@upfront/protocol'
import type { Chain } from '../chain/chain.js'
import { Revert } from '../chain/node-error.js'
import { encodeSettlement, SETTLEMENT_GAS_LIMIT, UPTO_PROXY } from '../chain/settlement-call.js'
import type { PaymentRow, SignedTransactionRow } from '../ledger/schema.js'
import type { SigningQueue } from './signing-queue.js'

/** A payTo that never held the token, a rebasing token: what an estimate on the newest block may fall short of. */
const GAS_HEADROOM = { numerator: 13n, denominator: 10n, plus: 15_000n }

export type SubmitResult =
  /** Signed and stored; to be broadcast. */
  | { outcome: 'signed'; payment: PaymentRow; transaction: SignedTransactionRow }
  /** Another process was faster. */
  | { outcome: 'moved on' }
  /** Permit2 has the nonce burnt: to be looked for on chain. */
  | { outcome: 'nonce used' }
  /** Can't be settled. */
  | { outcome: 'impossible'; reason: string }
  /** Reverts for no reason that can be seen: perhaps a node that lags. */
  | { outcome: 'reverts' }

/**
 * Estimates a charge's settlement and, where it would succeed, signs it and stores it. Also signs anew for a submitted
 * payment whose transactions can no longer be mined. Throws `NodeFault`.
 */
export async function submit(signing: SigningQueue, chain: Chain, payment: PaymentRow): Promise<SubmitResult> {
  if (payment.charge === null) throw new Error(`payment ${payment.id} was not charged`)
  if (payment.deadline < chain.head.now()) {
    return (await chain.isPermit2NonceUsed(payment.payer, payment.nonce))
      ? { outcome: 'nonce used' }
      : { outcome: 'impossible', reason: RefusalReason.deadlineExpired }
  }
  const data = encodeSettlement(payment, payment.charge)
  const [fees, estimate] = await Promise.all([chain.fees(), estimateSettlement(chain, payment, data)])
  if (typeof estimate !== 'bigint') return estimate
  if (estimate > SETTLEMENT_GAS_LIMIT) return { outcome: 'impossible', reason: RefusalReason.simulationFailed }
  const gas = (estimate * GAS_HEADROOM.numerator) / GAS_HEADROOM.denominator + GAS_HEADROOM.plus
  const intent = { paymentId: payment.id, signer: payment.facilitator, to: UPTO_PROXY, data, gas }
  const signed = await signing.sign(chain, payment, intent, fees)
  return signed === null ? { outcome: 'moved on' } : { outcome: 'signed', ...signed }
}

async function estimateSettlement(
  chain: Chain,
  payment: PaymentRow,
  data: `0x${string}`,
): Promise<bigint | SubmitResult> {
  try {
    return await chain.estimateGas(payment.facilitator, UPTO_PROXY, data)
  } catch (error) {
    if (!(error instanceof Revert)) throw error
    return explainRevert(chain, payment)
  }
}

/** Why a settlement that was fine when it was authorized reverts now. Throws `NodeFault`. */
export async function explainRevert(chain: Chain, payment: PaymentRow): Promise<SubmitResult> {
  const { payer, asset, nonce } = payment
  const charge = payment.charge ?? payment.maximum
  const [used, balance, allowance] = await Promise.all([
    chain.isPermit2NonceUsed(payer, nonce),
    chain.balanceOf(asset, payer),
    chain.permit2Allowance(asset, payer),
  ])
  if (used) return { outcome: 'nonce used' }
  if (balance < charge) return { outcome: 'impossible', reason: RefusalReason.insufficientBalance }
  if (allowance < charge) return { outcome: 'impossible', reason: RefusalReason.allowanceRequired }
  if (payment.deadline < (await chain.head.refresh()).timestamp) {
    return { outcome: 'impossible', reason: RefusalReason.deadlineExpired }
  }
  return { outcome: 'reverts' }
}
