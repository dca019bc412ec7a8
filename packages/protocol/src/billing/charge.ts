import {
  decodeDecimal,
  decodeInteger,
  decodeObject,
  decodeOneOf,
  decodeString,
  type JsonObject,
  refuseUnknownFields,
} from '../decode/fields.js'
import { decodePayment, encodePayment, type Payment } from './payment.js'
import type { Refusal } from './reasons.js'

/**
 * Charges an authorized payment. Answered once the charge is stored and the settlement is done, or
 * `waitMilliseconds` have passed; billing completes the settlement in any case.
 */
export interface ChargeRequest {
  /** Smallest unit, at most the maximum. 0 consumes the authorization without a transaction (state `zero`). */
  amount: bigint
  /** The seller's reason, for the ledger: `usage`, `unset`, `partial`, … */
  reason: string
  /** 0: answer as soon as the charge is stored. Absent: billing's default (`receiptWaitMs`). */
  waitMilliseconds?: number
}

/** Gives up an authorized payment: its reservation ends, its authorization stays used. */
export interface ReleaseRequest {
  reason: string
}

/**
 * `done`: the charge or release is stored. `payment` shows the state of the settlement: `settled` or `zero`; `failed` (see its `reason`);
 * `charging` or `submitted` while pending, with a `blockNumber` once mined but not yet confirmed.
 */
export type ChargeResult = { outcome: 'done'; payment: Payment } | (Refusal & { payment: Payment })

/** @throws DecodeError */
export function decodeChargeRequest(value: unknown): ChargeRequest {
  const object = decodeObject(value, 'body')
  refuseUnknownFields(object, '', ['amount', 'reason', 'waitMilliseconds'])
  return {
    amount: decodeDecimal(object.amount, 'amount'),
    reason: object.reason === undefined ? 'usage' : decodeString(object.reason, 'reason', 200),
    ...(object.waitMilliseconds === undefined
      ? {}
      : { waitMilliseconds: decodeInteger(object.waitMilliseconds, 'waitMilliseconds', 0, 300_000) }),
  }
}

export function encodeChargeRequest(request: ChargeRequest): JsonObject {
  return { ...request, amount: request.amount.toString() }
}

/** @throws DecodeError */
export function decodeReleaseRequest(value: unknown): ReleaseRequest {
  const object = decodeObject(value, 'body')
  refuseUnknownFields(object, '', ['reason'])
  return { reason: decodeString(object.reason, 'reason', 200) }
}

export function encodeChargeResult(result: ChargeResult): JsonObject {
  return { ...result, payment: encodePayment(result.payment) }
}

/** @throws DecodeError */
export function decodeChargeResult(value: unknown): ChargeResult {
  const object = decodeObject(value, 'body')
  const payment = decodePayment(object.payment)
  if (decodeOneOf(object.outcome, 'outcome', ['done', 'refused']) === 'done') return { outcome: 'done', payment }
  return {
    outcome: 'refused',
    reason: decodeString(object.reason, 'reason'),
    message: decodeString(object.message, 'message'),
    payment,
  }
}
