import { createHash } from 'node:crypto'
import type { GasSponsoring } from '../routes/offers.js'
import type { OfferExtension, PaidRouteSettings, PriceList } from '../routes/paid-route-options.js'
import { BAZAAR, describeRoute } from './describe-route.js'

/** x402's extension by which a buyer names a request, to get its answer again. */
export const PAYMENT_IDENTIFIER = 'payment-identifier'

/** Our extension that states every rule of a charge: buyers repeat it in what they send. */
export const CHARGE_TERMS = 'charge-terms'

const DRAFT = 'https://json-schema.org/draft/2020-12/schema'

/**
 * What a buyer accepts beside `accepts`: the charge rules and the whole price list, how to fetch an answer again, how to pay
 * without ETH, and what the seller says further.
 */
export function offerExtensions(
  { charge, priceList, extensions }: Pick<PaidRouteSettings, 'charge' | 'priceList' | 'extensions'>,
  routeName: string,
  answerSeconds: number,
  sponsorings: readonly GasSponsoring[],
): Record<string, OfferExtension> {
  const list = priceList === undefined ? {} : { priceList, priceListHash: priceListHash(priceList) }
  const { [BAZAAR]: bazaar, ...others } = extensions
  const terms = { info: { charge, ...list, answerSeconds }, schema: { $schema: DRAFT, type: 'object' } }
  return {
    ...others,
    ...(bazaar === undefined ? {} : { [BAZAAR]: describeRoute(bazaar, routeName) }),
    [CHARGE_TERMS]: terms,
    ...(answerSeconds === 0 ? {} : { [PAYMENT_IDENTIFIER]: IDENTIFIER }),
    ...Object.fromEntries(sponsorings.map((name) => [name, SPONSORINGS[name]])),
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
const VERSION = { type: 'string', pattern: '^[0-9]+(\\.[0-9]+)*$' }
/** As x402's specifications of the extensions have them. */
const SPONSORINGS: Record<GasSponsoring, OfferExtension> = {
  eip2612GasSponsoring: sponsoring('An EIP-2612 permit of the maximum for Permit2 stands in for its approval.', {
    nonce: DECIMAL,
    deadline: DECIMAL,
    signature: BYTES,
  }),
}

function sponsoring(description: string, signed: Record<string, object>): OfferExtension {
  const properties = { from: ADDRESS, asset: ADDRESS, spender: ADDRESS, amount: DECIMAL, ...signed, version: VERSION }
  return {
    info: { description, version: '1' },
    schema: { $schema: DRAFT, type: 'object', properties, required: Object.keys(properties) },
  }
}

/** SHA-256 of the list's canonical JSON (RFC 8785). */
export function priceListHash(list: PriceList): `0x${string}` {
  return `0x${createHash('sha256').update(canonicalJson(list)).digest('hex')}`
}

/**
 * RFC 8785, for what JSON.parse gives. By hand: the library for it is an ES module alone, which sellers' tests in Jest, with
 * modules of CommonJS, can't load.
 */
function canonicalJson(value: unknown): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`
  const fields = Object.entries(value).filter(([, field]) => field !== undefined)
  fields.sort(([one], [other]) => (one < other ? -1 : 1))
  return `{${fields.map(([name, field]) => `${JSON.stringify(name)}:${canonicalJson(field)}`).join(',')}}`
}
