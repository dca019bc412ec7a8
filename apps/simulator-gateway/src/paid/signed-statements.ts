import type { PaidRoutesOptions } from '@upfront/nestjs-x402'
import { createOfferEIP712, createReceiptEIP712, OFFER_RECEIPT } from '@x402/extensions/offer-receipt'
import { LRUCache } from 'lru-cache'
import { privateKeyToAccount } from 'viem/accounts'
import type { Environment } from '../environment/environment.js'

/** Signing takes a millisecond, so equal offers reuse a signature for this long. Offers are valid for five minutes. */
const SIGNED_MS = 60_000
const MAX_SIGNED = 1_000
const OFFER_SECONDS = 300

/** Suffix of routes whose offer has no extensions, signed ones included: some clients need further packages to load any. */
export const PLAIN = '/plain'

/** From the specification of the extension. */
const SCHEMA = {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  type: 'object',
  properties: { offers: { type: 'array', items: { type: 'object' } } },
  required: ['offers'],
}

/**
 * Signs x402's offers and delivery receipts (extension `offer-receipt`) with the receipt key. Usage and cost are in Upfront's own receipts,
 * next to each result. Empty without a key.
 */
export function signedStatements({
  RECEIPT_KEYS_FILE: receiptKeys,
}: Environment): Pick<PaidRoutesOptions, 'offerExtensions' | 'responseExtensions'> {
  if (receiptKeys === undefined) return {}
  const account = privateKeyToAccount(receiptKeys.privateKey)
  const sign = (message: unknown) => account.signTypedData(message as Parameters<typeof account.signTypedData>[0])
  type Made = Record<string, { info: object; schema: object }>
  const made = new LRUCache<string, Promise<Made>>({ max: MAX_SIGNED, ttl: SIGNED_MS })
  const offersOf: NonNullable<PaidRoutesOptions['offerExtensions']> = ({ route, resourceUrl, accepts }) => {
    if (route.endsWith(PLAIN)) return Promise.resolve({})
    const key = JSON.stringify([resourceUrl, accepts])
    const known = made.get(key)
    if (known !== undefined) return known
    const signing = Promise.all(
      accepts.map(({ scheme, network, asset, payTo, amount }, acceptIndex) => {
        const input = { acceptIndex, scheme, network, asset, payTo, amount, offerValiditySeconds: OFFER_SECONDS }
        return createOfferEIP712(resourceUrl, input, sign)
      }),
    ).then((offers) => ({ [OFFER_RECEIPT]: { info: { offers }, schema: SCHEMA } }))
    made.set(key, signing)
    signing.catch(() => made.delete(key))
    return signing
  }
  return {
    offerExtensions: offersOf,
    responseExtensions: async (delivery) => ({
      [OFFER_RECEIPT]: { info: { receipt: await createReceiptEIP712(delivery, sign) } },
    }),
  }
}
