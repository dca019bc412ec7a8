import { decodeList, decodeObject, decodeText, refuseUnknownFields } from '@upfront/protocol'
import { x402UptoPermit2ProxyAddress } from '@x402/evm'
import { type Hex, recoverAddress } from 'viem'
import { authorizationHash, type Permit2Authorization } from '../bill/authorization-hash.js'
import { jsonHash } from '../json-hash.js'
import type { SignedReceipt } from '../receipt.js'
import { assertEqual, assertSameHex, type Check, CLOCK_SKEW, check, firstDifference, Unchecked } from './check.js'
import { checkDelivery } from './delivery.js'
import type { PaidExchange, Settlement, VerifyOptions } from './paid-exchange.js'

interface Accepted {
  scheme: string
  network: string
  amount: string
  asset: string
  payTo: string
  extra: Record<string, unknown>
}

/**
 * Checks the payment of all calls: accepted offer, signed authorization, sum, settlement and delivery.
 * @param receipts receipts of the calls; undefined if one is missing or does not decode
 */
export async function checkPayment(
  receipts: readonly SignedReceipt[] | undefined,
  exchange: PaidExchange,
  options: VerifyOptions,
): Promise<Check[]> {
  return [
    await check('offer', () => checkOffer(exchange)),
    await check('authorization', () => checkAuthorization(receipts ?? [], exchange)),
    await check('payment', () => `${sumCharges(receipts)} in all`),
    await check('settlement', () => checkSettlement(receipts, exchange)),
    await check('delivery', () => checkDelivery(receipts ?? [], exchange, options)),
  ]
}

/** Checks that the offer was made for this request and contains what the buyer accepted. */
function checkOffer({ offer, payment, request }: PaidExchange): string {
  if (offer === undefined) throw new Unchecked('the file has no "offer" (PAYMENT-REQUIRED): the offer is not checked')
  const { x402Version, resource, accepts, extensions } = decodeObject(offer, 'offer')
  assertEqual(x402Version, 2, 'offer.x402Version')
  assertEqual(decodeObject(resource, 'offer.resource').url, request.url, 'offer.resource.url')
  const offered = decodeList(accepts, 'offer.accepts').map(withoutFacilitator)
  if (payment === undefined)
    throw new Unchecked('the file has no "payment": which offer the buyer accepted is not checked')
  const { accepted, ...sent } = decodeObject(payment, 'payment')
  assertEqual(sent.x402Version, 2, 'payment.x402Version')
  const terms = jsonHash(withoutFacilitator(accepted))
  const index = offered.findIndex((option) => jsonHash(option) === terms)
  if (index < 0) {
    const place = offered.length === 1 ? firstDifference(withoutFacilitator(accepted), offered[0]) : ''
    throw new Error(`payment.accepted${place}: is not what was offered`)
  }
  if (sent.resource !== undefined)
    assertEqual(decodeObject(sent.resource, 'payment.resource').url, request.url, 'payment.resource.url')
  const repeated = (sent.extensions as Record<string, unknown> | undefined)?.['charge-terms']
  const shown = (extensions as Record<string, unknown> | undefined)?.['charge-terms']
  if (repeated !== undefined && firstDifference(repeated, shown) !== undefined)
    throw new Error('payment.extensions.charge-terms: is not what was offered')
  return `accepts[${index}] of ${offered.length}, accepted by the buyer`
}

/** A facilitator with several signers may name a different one in each offer. */
function withoutFacilitator(option: unknown): Record<string, unknown> {
  const { extra, ...terms } = decodeObject(option, 'accepts')
  const { facilitatorAddress: _, ...rest } = decodeObject(extra, 'accepts: extra')
  return { ...terms, extra: rest }
}

/** Checks that receipts, accepted requirements and signed authorization agree, and that the payer signed. */
async function checkAuthorization(receipts: readonly SignedReceipt[], { payment }: PaidExchange): Promise<string> {
  if (payment === undefined)
    throw new Unchecked(
      'the file has no "payment" (PAYMENT-SIGNATURE): that the buyer signed this maximum for this seller is not checked',
    )
  const { payload, accepted } = decodeObject(payment, 'payment')
  const { permit2Authorization, signature } = decodeObject(payload, 'payment.payload')
  const at = 'payment.payload.permit2Authorization'
  const signed = decodeObject(permit2Authorization, at) as unknown as Permit2Authorization
  refuseUnknownFields(signed, at, ['from', 'permitted', 'spender', 'nonce', 'deadline', 'witness'])
  const { permitted, witness } = signed
  const { scheme, network, amount, asset, payTo, extra } = decodeObject(
    accepted,
    'payment.accepted',
  ) as unknown as Accepted
  assertEqual(scheme, 'upto', 'payment.accepted.scheme')
  assertEqual(decodeObject(permitted, `${at}.permitted`).amount, amount, `${at}.permitted.amount`)
  assertSameHex(permitted.token, String(asset), `${at}.permitted.token`)
  assertSameHex(decodeObject(witness, `${at}.witness`).to, String(payTo), `${at}.witness.to`)
  assertSameHex(witness.facilitator, String(extra?.facilitatorAddress), `${at}.witness.facilitator`)
  assertSameHex(signed.spender, x402UptoPermit2ProxyAddress, `${at}.spender`)
  for (const [name, number] of Object.entries({
    amount: permitted.amount,
    nonce: signed.nonce,
    deadline: signed.deadline,
    validAfter: witness.validAfter,
  }))
    decodeText(number, /^(?:0|[1-9]\d{0,77})$/, `${at}: ${name}`)
  const hash = authorizationHash(network, signed)
  for (const receipt of receipts) {
    assertEqual(receipt.network, network, 'receipt.network')
    assertEqual(receipt.authorizationHash, hash, 'receipt.authorizationHash')
    assertEqual(receipt.nonce, signed.nonce, 'receipt.nonce')
    assertSameHex(receipt.payer, signed.from, 'receipt.payer')
    assertEqual(receipt.maximum, permitted.amount, 'receipt.maximum')
    assertSameHex(receipt.asset, permitted.token, 'receipt.asset')
    assertSameHex(receipt.payTo, witness.to, 'receipt.payTo')
    const issuedAt = BigInt(receipt.issuedAt)
    if (
      issuedAt > BigInt(signed.deadline) + BigInt(CLOCK_SKEW) ||
      issuedAt + BigInt(CLOCK_SKEW) < BigInt(witness.validAfter)
    )
      throw new Error('receipt.issuedAt: the authorization was not valid then')
  }
  if (signature === undefined)
    throw new Unchecked('payment.payload.signature: is left out, so whether the buyer signed this is not checked')
  await assertSignature(
    hash,
    decodeText(signature, /^0x(?:[0-9a-fA-F]{2})+$/, 'payment.payload.signature') as Hex,
    signed.from,
  )
  return `at most ${amount} to ${payTo}, signed by ${signed.from}`
}

async function assertSignature(hash: Hex, signature: Hex, payer: string): Promise<void> {
  const signer = await recoverAddress({ hash, signature }).catch(() => undefined)
  if (signer?.toLowerCase() === payer.toLowerCase()) return
  throw new Unchecked(
    `payment.payload.signature: is not by ${payer}'s own key; if the payer is a contract (ERC-1271), ask it whether it accepts the signature for ${hash}`,
  )
}

/** Sum of the calls' charges. @throws Error if the receipts don't follow one another; Unchecked if one is missing */
function sumCharges(receipts: readonly SignedReceipt[] | undefined): bigint {
  if (receipts === undefined) throw new Unchecked('a receipt is missing: the total cost of the calls is not checked')
  let total = 0n
  for (const [index, { chargedBefore, amount, nonce, payer }] of receipts.entries()) {
    const at = `receipt ${index + 1}`
    assertEqual(chargedBefore, total.toString(), `${at}: chargedBefore`)
    assertEqual(nonce, receipts[0]!.nonce, `${at}: nonce`)
    assertEqual(payer, receipts[0]!.payer, `${at}: payer`)
    total += BigInt(amount)
  }
  return total
}

/** Checks that the settlement moved the sum of the receipts from the payer, on its network. */
function checkSettlement(
  receipts: readonly SignedReceipt[] | undefined,
  { settlement, payment }: PaidExchange,
): string {
  if (settlement === undefined)
    throw new Unchecked(
      'the file has no "settlement" (PAYMENT-RESPONSE): what was charged, and in which transaction, is not checked',
    )
  const { success, amount, payer, network, transaction, errorReason } = decodeObject(
    settlement,
    'settlement',
  ) as unknown as Settlement
  if (success !== true && errorReason === 'settlement_pending')
    throw new Unchecked(
      `settlement: was pending when the answer was sent (transaction ${String(transaction)}): look it up`,
    )
  assertEqual(success, true, 'settlement.success')
  const total = sumCharges(receipts)
  assertEqual(amount, total.toString(), 'settlement.amount')
  if (total === 0n) assertEqual(transaction, '', 'settlement.transaction')
  else decodeText(transaction, /^0x[0-9a-fA-F]{64}$/, 'settlement.transaction')
  const first = receipts?.[0] ?? payerOf(payment)
  if (first === undefined) throw new Unchecked('no document names the payer: whose money was settled is not checked')
  assertSameHex(payer, first.payer, 'settlement.payer')
  assertEqual(network, first.network, 'settlement.network')
  return total === 0n
    ? 'nothing, as nothing was charged'
    : `${total} from ${first.payer} on ${first.network}, in ${transaction}`
}

/** Reads the payer from the payment, for when no call was charged. */
function payerOf(payment: unknown): Pick<SignedReceipt, 'payer' | 'network'> | undefined {
  const { accepted, payload } = (payment ?? {}) as {
    accepted?: { network: string }
    payload?: { permit2Authorization?: { from: string } }
  }
  const payer = payload?.permit2Authorization?.from
  return payer === undefined ? undefined : { payer: payer as Hex, network: String(accepted?.network) }
}
