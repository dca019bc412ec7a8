import {
  decodeAddressField,
  decodeDecimal,
  decodeHash,
  decodeNetwork,
  decodeNullable,
  decodeObject,
  decodeOneOf,
  decodeString,
  type Network,
} from '../decode/fields.js'
import type { Address, Hash } from '../hex.js'
import { SCHEMES, type Scheme } from './payment-payload.js'

/**
 * - `authorized`: verified and reserved; the handler may run.
 * - `charging`: the charge is stored, its transaction is not yet signed.
 * - `submitted`: a transaction is signed and stored; from here on billing alone brings the payment to its end.
 * - `settled`: mined, its transfer seen, confirmed. `failed`: charged, and can never be settled (see `reason`).
 * - `zero`: charged nothing, no transaction. `released`: given up by the seller. `expired`: its deadline passed uncharged.
 *
 * The (payer, nonce) of a payment stays used in every state.
 */
export const PAYMENT_STATES = [
  'authorized',
  'charging',
  'submitted',
  'settled',
  'failed',
  'zero',
  'released',
  'expired',
] as const
export type PaymentState = (typeof PAYMENT_STATES)[number]

/**
 * The closed list of transitions. The ledger follows the chain: a settlement that a reorganisation takes back is under way
 * again, and a failure whose transfer is found after all is settled.
 */
export const PAYMENT_TRANSITIONS: Readonly<Record<PaymentState, readonly PaymentState[]>> = {
  authorized: ['charging', 'zero', 'released', 'expired'],
  charging: ['submitted', 'settled', 'failed'],
  submitted: ['settled', 'failed'],
  settled: ['submitted'],
  failed: ['settled'],
  zero: [],
  released: [],
  expired: [],
}

const OPEN_STATES: ReadonlySet<PaymentState> = new Set(['authorized', 'charging', 'submitted'])

/** Whether nothing more is to be done for a payment in this state, as far as the chain goes today. */
export function isFinal(state: PaymentState): boolean {
  return !OPEN_STATES.has(state)
}

/** A payment as billing knows it. Amounts are in the asset's smallest unit, times in ISO 8601, fees in wei. */
export interface Payment {
  id: string
  scheme: Scheme
  state: PaymentState
  network: Network
  asset: Address
  payer: Address
  payTo: Address
  facilitator: Address
  /** Permit2's, or EIP-3009's as a number. */
  nonce: bigint
  /** What the buyer signed. */
  maximum: bigint
  /** What the seller charged; null until then. */
  charge: bigint | null
  /** Seconds since 1970. */
  deadline: bigint
  /** `<METHOD> <path>` of the seller's route. */
  route: string | null
  /** Why it is in this state: an x402 reason for `failed`, the seller's word for `released` and charges. */
  reason: string | null
  /** The newest or the mined settlement transaction. */
  transaction: Hash | null
  /**
   * Why it could not be settled on the newest block, an x402 reason: the payer emptied its account or burnt the nonce, an estimate
   * failed, its transaction reverted. Null where nothing is known against it. Not final: it may be settled all the same.
   */
  doubt: string | null
  /** Set as soon as the transaction is mined successfully, also before it has its confirmations (state `submitted`). */
  blockNumber: bigint | null
  gasUsed: bigint | null
  /** Wei paid by the signer. */
  feePaid: bigint | null
  createdAt: string
  chargedAt: string | null
  submittedAt: string | null
  /** When a final state was reached. */
  finishedAt: string | null
}

/**
 * What a charge is worth to who sold something for it:
 * - `settled`: its transaction is mined and succeeded, or nothing was charged. Confirmations are for the books.
 * - `pending`: on its way, and nothing is known against it.
 * - `doubtful`: as of the newest block it could not be settled. It may be yet.
 * - `failed`: it can't be settled any more.
 */
export type Standing = 'settled' | 'pending' | 'doubtful' | 'failed'

export function standingOf({ state, blockNumber, doubt }: Pick<Payment, 'state' | 'blockNumber' | 'doubt'>): Standing {
  if (state === 'settled' || state === 'zero') return 'settled'
  if (isFinal(state)) return 'failed'
  if (blockNumber !== null) return 'settled'
  return doubt === null ? 'pending' : 'doubtful'
}

/** {@link Payment} as JSON: every bigint a decimal string. */
export function encodePayment(payment: Payment): Record<string, string | null> {
  return {
    ...payment,
    nonce: payment.nonce.toString(),
    maximum: payment.maximum.toString(),
    charge: payment.charge?.toString() ?? null,
    deadline: payment.deadline.toString(),
    blockNumber: payment.blockNumber?.toString() ?? null,
    gasUsed: payment.gasUsed?.toString() ?? null,
    feePaid: payment.feePaid?.toString() ?? null,
  }
}

/** Throws {@link DecodeError}. Unknown fields are let through: a newer billing may say more. */
export function decodePayment(value: unknown, field = 'payment'): Payment {
  const object = decodeObject(value, field)
  const at = (name: string) => `${field}.${name}`
  const text = (name: string) => decodeString(object[name], at(name))
  const optionalText = (name: string) =>
    decodeNullable(object[name], at(name), (found, path) => decodeString(found, path))
  const optionalDecimal = (name: string) => decodeNullable(object[name], at(name), decodeDecimal)
  return {
    id: text('id'),
    scheme: decodeOneOf(object.scheme, at('scheme'), SCHEMES),
    state: decodeOneOf(object.state, at('state'), PAYMENT_STATES),
    network: decodeNetwork(object.network, at('network')),
    asset: decodeAddressField(object.asset, at('asset')),
    payer: decodeAddressField(object.payer, at('payer')),
    payTo: decodeAddressField(object.payTo, at('payTo')),
    facilitator: decodeAddressField(object.facilitator, at('facilitator')),
    nonce: decodeDecimal(object.nonce, at('nonce')),
    maximum: decodeDecimal(object.maximum, at('maximum')),
    charge: optionalDecimal('charge'),
    deadline: decodeDecimal(object.deadline, at('deadline')),
    route: optionalText('route'),
    reason: optionalText('reason'),
    transaction: decodeNullable(object.transaction, at('transaction'), decodeHash),
    doubt: optionalText('doubt'),
    blockNumber: optionalDecimal('blockNumber'),
    gasUsed: optionalDecimal('gasUsed'),
    feePaid: optionalDecimal('feePaid'),
    createdAt: text('createdAt'),
    chargedAt: optionalText('chargedAt'),
    submittedAt: optionalText('submittedAt'),
    finishedAt: optionalText('finishedAt'),
  }
}
