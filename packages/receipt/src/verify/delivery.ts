import { decodeInteger, decodeObject, decodeText, refuseUnknownFields } from '@upfront/protocol'
import { type Hex, recoverTypedDataAddress } from 'viem'
import type { SignedReceipt } from '../receipt.js'
import { assertEqual, assertSameHex, CLOCK_SKEW, Unchecked } from './check.js'
import { assertReceiptKey } from './check-call.js'
import type { PaidExchange, Settlement, VerifyOptions } from './paid-exchange.js'

/** EIP-712 domain of x402's `offer-receipt`. Source: x402 `specs/extensions/extension-offer-and-receipt.md`. */
export const DELIVERY_DOMAIN = { name: 'x402 receipt', version: '1', chainId: 1 } as const
export const DELIVERY_TYPES = {
  Receipt: [
    { name: 'version', type: 'uint256' },
    { name: 'network', type: 'string' },
    { name: 'resourceUrl', type: 'string' },
    { name: 'payer', type: 'string' },
    { name: 'issuedAt', type: 'uint256' },
    { name: 'transaction', type: 'string' },
  ],
} as const

/** Checks x402's own delivery receipt: for this request and payment, signed by a key of the seller. */
export async function checkDelivery(
  receipts: readonly SignedReceipt[],
  { settlement, seller, request }: PaidExchange,
  { signer: trusted }: VerifyOptions,
): Promise<string> {
  const { extensions, transaction, payer, network } = ((settlement as Settlement | undefined) ?? {}) as Settlement
  const receipt = extensions?.['offer-receipt']?.info?.receipt
  if (receipt === undefined)
    throw new Unchecked(
      'no document has x402’s signed receipt of delivery: that the seller delivered for this transaction is not checked',
    )
  const { format, payload, signature } = decodeObject(receipt, 'delivery')
  if (format !== 'eip712') throw new Unchecked(`delivery.format: ${String(format)} can't be checked here`)
  const signed = decodeObject(payload, 'delivery.payload')
  refuseUnknownFields(
    signed,
    'delivery.payload',
    DELIVERY_TYPES.Receipt.map(({ name }) => name),
  )
  assertEqual(signed.version, 1, 'delivery.version')
  assertEqual(signed.network, network, 'delivery.network')
  assertEqual(signed.resourceUrl, request.url, 'delivery.resourceUrl')
  assertSameHex(signed.payer, String(payer), 'delivery.payer')
  assertSameHex(signed.transaction, String(transaction), 'delivery.transaction')
  const issuedAt = decodeInteger(signed.issuedAt, 'delivery.issuedAt')
  const early = receipts.find((ours) => ours.issuedAt > issuedAt + CLOCK_SKEW)
  if (early !== undefined) throw new Error('delivery.issuedAt: is before the answer was made')
  const signer = await recoverTypedDataAddress({
    domain: DELIVERY_DOMAIN,
    types: DELIVERY_TYPES,
    primaryType: 'Receipt',
    message: { ...signed, version: 1n, issuedAt: BigInt(issuedAt) } as never,
    signature: decodeText(signature, /^0x[0-9a-fA-F]{130}$/, 'delivery.signature') as Hex,
  })
  const key = signer.toLowerCase()
  if (trusted !== undefined) assertSameHex(key, trusted, 'delivery: signer')
  if (seller !== undefined) assertReceiptKey(seller, key, issuedAt)
  else if (trusted === undefined) throw new Unchecked(`signed by ${key}: no document of the seller names this key`)
  return `of ${request.url}, signed by ${key}`
}
