import { GAS_SPONSORING, PAYMENT_IDENTIFIER } from '@upfront/protocol'
import type { OfferExtension, PaidRouteSettings } from '../routes/paid-route-options.js'
import { priceListHash } from '../routes/price-list.js'
import { BAZAAR, describeRoute } from './describe-route.js'

const DRAFT = 'https://json-schema.org/draft/2020-12/schema'

/** The charge rules and the complete price list. */
export function chargeTerms(
  { charge, priceList }: Pick<PaidRouteSettings, 'charge' | 'priceList'>,
  answerSeconds: number,
) {
  const list = priceList === undefined ? {} : { priceList, priceListHash: priceListHash(priceList) }
  return { charge, ...list, answerSeconds }
}

/**
 * The extensions of an offer, as far as the seller has them enabled: charge rules with the price list, how to fetch an answer again, how to
 * pay without ETH, and the seller's own.
 */
export function offerExtensions(
  settings: Pick<PaidRouteSettings, 'charge' | 'priceList' | 'extensions' | 'ownExtensions'>,
  routeName: string,
  answerSeconds: number,
  isSponsored: boolean,
): Record<string, OfferExtension> {
  const { [BAZAAR]: bazaar, ...others } = settings.extensions
  const own: Record<string, OfferExtension> = {
    'charge-terms': { info: chargeTerms(settings, answerSeconds), schema: { $schema: DRAFT, type: 'object' } },
    ...(answerSeconds === 0 ? {} : { [PAYMENT_IDENTIFIER]: IDENTIFIER }),
    ...(isSponsored ? { [GAS_SPONSORING]: PERMIT } : {}),
  }
  return {
    ...others,
    ...(bazaar === undefined ? {} : { [BAZAAR]: describeRoute(bazaar, routeName) }),
    ...Object.fromEntries(Object.entries(own).filter(([name]) => settings.ownExtensions.some((on) => on === name))),
  }
}

const IDENTIFIER: OfferExtension = {
  info: { required: false },
  schema: {
    $schema: DRAFT,
    type: 'object',
    properties: { required: { type: 'boolean' }, id: { type: 'string', minLength: 16, maxLength: 128 } },
    required: ['required'],
  },
}

const ADDRESS = { type: 'string', pattern: '^0x[a-fA-F0-9]{40}$' }
const DECIMAL = { type: 'string', pattern: '^[0-9]+$' }
const BYTES = { type: 'string', pattern: '^0x[a-fA-F0-9]+$' }
const SIGNED = {
  ...{ from: ADDRESS, asset: ADDRESS, spender: ADDRESS, amount: DECIMAL, nonce: DECIMAL, deadline: DECIMAL },
  ...{ signature: BYTES, version: { type: 'string', pattern: '^[0-9]+(\\.[0-9]+)*$' } },
}
/** As specified by x402's `eip2612GasSponsoring` extension. */
const PERMIT: OfferExtension = {
  info: {
    description: 'An EIP-2612 permit that allows Permit2 to spend the maximum replaces the approval.',
    version: '1',
  },
  schema: { $schema: DRAFT, type: 'object', properties: SIGNED, required: Object.keys(SIGNED) },
}
