import { formatUnits, GAS_SPONSORING } from '@upfront/protocol'
import { encodePaymentRequiredHeader } from '@x402/core/http'
import type { PaymentRequired, ResourceInfo } from '@x402/core/types'
import { PERMIT2_ADDRESS } from '@x402/evm'
import { type HttpAnswer, jsonAnswer } from '../hold/http-answer.js'
import { describePolicy } from '../routes/charge-policy.js'
import { isUpfront, type Offer } from '../routes/offers.js'
import type { OfferExtension, PaidRouteSettings } from '../routes/paid-route-options.js'
import { chargeTerms } from './offer-extensions.js'
import { paymentRequiredPage } from './payment-required-page.js'

/** Why a request is refused: an x402 reason for clients and a message for people. */
export interface Refusal {
  reason: string
  message: string
}

export const UNPAID: Refusal = { reason: 'payment_required', message: 'This route is paid.' }

const APPROVAL_NEEDED: ReadonlySet<string> = new Set(['permit2_allowance_required', 'gas_sponsoring_spent'])

/** The 402 of x402 v2, as JSON or as a page for browsers. 412, as in @x402/core, if only the Permit2 approval is missing. */
export function paymentRequired(
  refusal: Refusal,
  offers: readonly Offer[],
  resource: ResourceInfo,
  settings: PaidRouteSettings,
  extensions: Record<string, OfferExtension>,
  answerSeconds: number,
  accept: string | undefined,
): HttpAnswer {
  const { charge } = settings
  const required: PaymentRequired = {
    x402Version: 2,
    error: refusal.reason,
    resource,
    accepts: offers.map(({ requirements }) => requirements),
    ...(Object.keys(extensions).length > 0 ? { extensions } : {}),
  }
  const headers = {
    'PAYMENT-REQUIRED': encodePaymentRequiredHeader(required),
    'Cache-Control': 'no-store',
    Vary: 'Accept, PAYMENT-SIGNATURE',
  }
  const status = APPROVAL_NEEDED.has(refusal.reason) ? 412 : 402
  const prices = offers.map(
    ({ requirements: { scheme, amount, network, payTo }, decimals }) =>
      `${scheme === 'exact' ? '' : 'up to '}$${formatUnits(BigInt(amount), decimals)} on ${network} to ${payTo}`,
  )
  const schemes = [...new Set(offers.map(({ requirements }) => requirements.scheme))]
  const isMetered = schemes.includes('upto')
  const policy = describePolicy(charge, answerSeconds, settings.onPending, isMetered, offers.every(isUpfront))
  if (prefersHtml(accept)) {
    return {
      status,
      headers: { ...headers, 'Content-Type': 'text/html; charset=utf-8' },
      body: Buffer.from(paymentRequiredPage(refusal.message, resource, prices, policy)),
    }
  }
  const message = `${refusal.message} It ${isMetered ? 'charges for use' : 'costs'}${isMetered ? ',' : ''} ${prices.join(', or ')}: sign one of "accepts" and repeat the request with a PAYMENT-SIGNATURE header (x402 v2, scheme ${schemes.join(' or ')}). ${policy.join(' ')}`
  // The missing ERC-20 approval: call `approve(spender, amount)` on the token.
  const approve = offers.map(({ requirements: { asset: token } }) => ({ token, spender: PERMIT2_ADDRESS }))
  const terms = chargeTerms(settings, answerSeconds)
  return jsonAnswer(status, { ...required, message, ...(status === 412 ? { approve } : {}), ...terms }, headers)
}

/** Whether `Accept` prefers HTML to JSON. */
function prefersHtml(accept: string | undefined): boolean {
  const types = (accept ?? '').split(',').map((part) => {
    const [type = '', ...parameters] = part.split(';').map((word) => word.trim().toLowerCase())
    const quality = parameters.find((parameter) => parameter.startsWith('q='))
    return { type, quality: quality === undefined ? 1 : Number(quality.slice(2)) || 0 }
  })
  const html = Math.max(0, ...types.filter(({ type }) => type === 'text/html').map(({ quality }) => quality))
  const json = Math.max(0, ...types.filter(({ type }) => type === 'application/json').map(({ quality }) => quality))
  return html > json
}

/** The facilitator's reason if it is a single plain word, else undefined: text of libraries and nodes never reaches a buyer. */
export function sanitizeReason(reason: string | undefined): string | undefined {
  return reason !== undefined && /^[a-zA-Z0-9_.-]{1,80}$/.test(reason) ? reason : undefined
}

/** The refusal for a facilitator's reason, with our own message. */
export function refusalOf(reason: string | undefined): Refusal {
  const plain = sanitizeReason(reason)
  if (plain === undefined) return { reason: 'payment_invalid', message: 'The payment was refused.' }
  return { reason: plain, message: MESSAGES[plain] ?? `The payment was refused (${plain}).` }
}

const MESSAGES: Record<string, string> = {
  no_matching_payment_requirements: 'The payment accepts an offer that this route does not make.',
  authorization_used: 'This authorization was used before. Sign a new one.',
  permit2_invalid_nonce: 'This authorization was used before. Sign a new one.',
  permit2_deadline_expired: 'The authorization ends too soon for this route. Sign a new one.',
  permit2_deadline_too_far: 'The authorization is valid for longer than the offer says. Sign a new one.',
  payer_refused:
    'A payment of this payer could not be settled, or is likely to fail. Its payments are refused for now: try again later.',
  permit2_not_yet_valid: 'The authorization is not valid yet.',
  permit2_insufficient_balance: 'The balance does not cover this payment and the open ones.',
  permit2_allowance_required: `Permit2 may not spend this token yet. Call approve(${PERMIT2_ADDRESS}, amount) on the token, then repeat the request; or, if the offer has the extension ${GAS_SPONSORING}, sign the permit that it describes, one payment at a time.`,
  gas_sponsoring_spent: `No more gas is sponsored for this payer today. Call approve(${PERMIT2_ADDRESS}, amount) on the token, then repeat the request.`,
  permit2_amount_mismatch: 'The signed maximum is not the offered one.',
  permit2_token_mismatch: 'The signed token is not the offered one.',
  invalid_permit2_recipient_mismatch: 'The signed recipient is not the offered one.',
  invalid_permit2_signature: 'The signature does not match the authorization.',
  invalid_permit2_spender: "The authorized spender is not the scheme's proxy.",
  upto_facilitator_mismatch: 'The authorized facilitator is not the one that settles for this route.',
  permit2_simulation_failed: 'The payment would fail on chain.',
}
