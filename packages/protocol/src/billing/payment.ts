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
 * - `charging`: the charge is stored, its transaction is not signed yet.
 * - `submitted`: a transaction is signed and stored; from here on billing alone completes the payment.
 * - `settled`: mined, transfer found, confirmed. `failed`: charged, but can never be settled (see `reason`).
 * - `zero`: charged nothing, no transaction. `released`: given up by the seller. `expired`: deadline passed without a charge.
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
 * All allowed transitions. The ledger follows the chain: a settlement that a reorganisation removes is pending
 * again, and a failed payment whose transfer is found later is settled.
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

/** Whether a payment in this state needs no more work, unless the chain reorganises. */
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
  /** Nonce of Permit2, or of EIP-3009 as a number. */
  nonce: bigint
  /** The signed maximum. */
  maximum: bigint
  /** The amount charged; null until then. */
  charge: bigint | null
  /** Unix time in seconds. */
  deadline: bigint
  /** `<METHOD> <path>` of the seller's route. */
  route: string | null
  /** Why it is in this state: an x402 reason for `failed`, the seller's reason for releases and charges. */
  reason: string | null
  /** The newest settlement transaction, or the mined one. */
  transaction: Hash | null
  /**
   * Why it could not be settled as of the newest block, as an x402 reason: the payer emptied its account or used the nonce, an estimate
   * failed, or its transaction reverted. Null if there is no such reason. Not final: it may still be settled.
   */
  doubt: string | null
  /** Set as soon as the transaction is mined successfully, even before it is confirmed (state `submitted`). */
  blockNumber: bigint | null
  gasUsed: bigint | null
  /** Fee paid by the signer, wei. */
  feePaid: bigint | null
  createdAt: string
  chargedAt: string | null
  submittedAt: string | null
  /** When it reached a final state. */
  finishedAt: string | null
}

/**
 * What a charge is worth to the seller:
 * - `settled`: its transaction is mined and succeeded, or nothing was charged. Confirmations only matter to accounting.
 * - `pending`: in progress, with no sign of a problem.
 * - `doubtful`: it could not be settled as of the newest block, but still may be.
 * - `failed`: it can no longer be settled.
 */
export type Standing = 'settled' | 'pending' | 'doubtful' | 'failed'

export function standingOf({ state, blockNumber, doubt }: Pick<Payment, 'state' | 'blockNumber' | 'doubt'>): Standing {
  if (state === 'settled' || state === 'zero') return 'settled'
  if (isFinal(state)) return 'failed'
  if (blockNumber !== null) return 'settled'
  return doubt === null ? 'pending' : 'doubtful'
}

/** {@link Payment} as JSON; every bigint becomes a decimal string. */
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

/** Ignores unknown fields, which a newer billing may send. @throws DecodeError */
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
