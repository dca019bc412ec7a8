import { randomBytes } from 'node:crypto'
import { decodePaymentRequiredHeader, decodePaymentResponseHeader } from '@x402/core/http'
import type { SettleResponse } from '@x402/core/types'

/** The default payer in tests. */
export const FAKE_PAYER = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8'

const UPTO_PROXY = '0x4020A4f3b7b90ccA423B9fabCc0CE57C6C240002'

/**
 * Makes a PAYMENT-SIGNATURE header for an offer, with a new nonce and a signature that only {@link FakeFacilitator} accepts.
 * @param offer the PAYMENT-REQUIRED header of a 402
 * @throws Error if it offers no `upto` payment
 */
export function fakePayment(offer: string, { payer = FAKE_PAYER }: { payer?: string } = {}): string {
  const { accepts, resource, extensions } = decodePaymentRequiredHeader(offer)
  const accepted = accepts.find(({ scheme }) => scheme === 'upto')
  if (accepted === undefined) throw new Error('the offer has no upto payment')
  const permit2Authorization = {
    from: payer,
    permitted: { token: accepted.asset, amount: accepted.amount },
    spender: UPTO_PROXY,
    nonce: BigInt(`0x${randomBytes(32).toString('hex')}`).toString(),
    deadline: String(Math.floor(Date.now() / 1000) + accepted.maxTimeoutSeconds),
    witness: { to: accepted.payTo, facilitator: accepted.extra.facilitatorAddress, validAfter: '0' },
  }
  const payload = { signature: `0x${'11'.repeat(65)}`, permit2Authorization }
  return Buffer.from(JSON.stringify({ x402Version: 2, resource, accepted, payload, extensions })).toString('base64')
}

/** A `fetch` that pays: if the answer is 402, it repeats the request with a {@link fakePayment}. */
export async function payingFetch(
  url: string | URL,
  init: RequestInit = {},
  options: { payer?: string } = {},
): Promise<Response> {
  const unpaid = await fetch(url, init)
  const offer = unpaid.headers.get('payment-required')
  if (unpaid.status !== 402 || offer === null) return unpaid
  await unpaid.body?.cancel()
  const headers = new Headers(init.headers)
  headers.set('PAYMENT-SIGNATURE', fakePayment(offer, options))
  return fetch(url, { ...init, headers })
}

/** The decoded PAYMENT-RESPONSE of a paid answer; undefined if there is none. */
export function receiptOf(response: Response): SettleResponse | undefined {
  const header = response.headers.get('payment-response')
  return header === null ? undefined : decodePaymentResponseHeader(header)
}
