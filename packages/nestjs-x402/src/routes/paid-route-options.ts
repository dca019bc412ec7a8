import { MAX_SETTLEMENT_SECONDS, SCHEMES, type Scheme } from '@upfront/protocol'
import { isDollars } from './amount.js'
import { type ChargePolicy, policyFaults, upfrontFaults } from './charge-policy.js'
import type { IncomingRequest } from './incoming-request.js'
import type { PriceList } from './price-list.js'

/** Metadata key under which `@PaidRoute` stores its options on a handler. */
export const PAID_ROUTE = Symbol.for('nestjs-x402:paid-route')

export const ASSET_TRANSFER_METHODS = ['eip3009', 'permit2'] as const
export type AssetTransferMethod = (typeof ASSET_TRANSFER_METHODS)[number]

/** x402 also defines `escrow`, which neither scheme supports on EVM. */
export const PAYMENT_FLOWS = ['authorization', 'upfront'] as const
export type PaymentFlow = (typeof PAYMENT_FLOWS)[number]

/** One way to pay for a route. */
export interface PaymentOption {
  /** `upto`: the metered amount, at most the price. `exact`: the price. A route may offer both, in order of preference. */
  scheme: Scheme
  /** Such as `$0.10`. For `upto`, the maximum that the buyer authorizes. */
  price: `$${string}`
  /** CAIP-2, such as `eip155:8453`. */
  network: `${string}:${string}`
  /** The address that is paid. */
  payTo: string
  /**
   * The token: its address (described by the facilitator), or address and decimals. Default: the network's USDC, if @x402/evm knows one.
   */
  asset?: string | { address: string; decimals: number; name?: string; version?: string }
  /** How the token is moved. `exact`: by EIP-3009 (the default), or by Permit2, which works for any token. `upto`: always by Permit2. */
  assetTransferMethod?: AssetTransferMethod
  /**
   * x402's payment flow. `authorization` (the default) settles after the handler. `upfront`, for `exact` only, settles before the handler
   * and is never refunded.
   */
  paymentFlow?: PaymentFlow
  /**
   * Validity of the buyer's authorization in seconds, counted from the offer. At least the time-out, the time to settle and 10 s to sign.
   * Default: 300, or this minimum if it is higher.
   */
  maxTimeoutSeconds?: number
}

/** An x402 extension as carried by an offer. */
export interface OfferExtension {
  info: object
  /** JSON Schema (2020-12) of what the buyer sends back. */
  schema: object
}

/**
 * Our extensions of an offer. `charge-terms` states all charge rules, and buyers echo it; `payment-identifier` and `eip2612GasSponsoring`
 * are defined by x402.
 */
export const OWN_EXTENSIONS = ['charge-terms', 'payment-identifier', 'eip2612GasSponsoring'] as const
export type OwnExtension = (typeof OWN_EXTENSIONS)[number]

export interface PaidRouteOptions {
  /** Payment options, in order of preference. */
  accepts: PaymentOption | PaymentOption[]
  /** For people; shown in the offer. */
  description?: string
  /** Media type of the answer; shown in the offer. */
  mimeType?: string
  /**
   * Further x402 extensions of the offer, such as `declareDiscoveryExtension({…})` of @x402/extensions. With it the facilitator lists the
   * route (Bazaar); a route without it is not listed.
   */
  extensions?: Record<string, OfferExtension>
  /**
   * Which of our own extensions the offer carries, if they apply. Default: all. With `[]` and no `extensions` the offer has none, so every
   * x402 client can pay it. Without `charge-terms` the terms are only in the body of the 402, and each of `accepts` binds the price list by
   * `extra.priceListHash`.
   */
  ownExtensions?: readonly OwnExtension[]
  charge: ChargePolicy
  /** The data from which the metered amount is computed: any JSON with a `version`. The offer shows it in full, with its hash. */
  priceList?: PriceList
  /**
   * What a buyer gets while its payment is charged but not on chain yet. `withhold` (the default): a 402, and the answer once the payment
   * is settled, so nothing is delivered unpaid. `deliver`: the answer at once. The seller then bears the risk that the payment never
   * settles, because the buyer can empty its account or use up the authorization first.
   */
  onPending?: 'withhold' | 'deliver'
  /** Time-out of the handler, in milliseconds. Default 30,000. */
  timeout?: number
  /**
   * How many bytes of an answer are held until the handler ends. A longer answer is charged at this point and streamed from there on. 0
   * charges before the first byte. Default 1 MiB.
   */
  holdBytes?: number
  /**
   * Returns true for requests that need no payment, such as reads that belong to a paid service. Their handler runs with
   * `Settlement.payment` undefined.
   */
  free?: (request: Pick<IncomingRequest, 'method' | 'url' | 'body'>) => boolean
}

/** Minimum time in seconds that a buyer has between the offer and the paid request. */
const BUYER_SECONDS = 10
const DEFAULT_VALIDITY_SECONDS = 300

/** Options with defaults applied. */
export interface PaidRouteSettings {
  accepts: (PaymentOption & { maxTimeoutSeconds: number })[]
  description: string
  mimeType: string
  extensions: Record<string, OfferExtension>
  ownExtensions: readonly OwnExtension[]
  charge: Required<ChargePolicy>
  priceList: PriceList | undefined
  onPending: 'withhold' | 'deliver'
  timeout: number
  holdBytes: number
  free: PaidRouteOptions['free']
}

export function withDefaults(options: PaidRouteOptions): PaidRouteSettings {
  const timeout = options.timeout ?? 30_000
  const validity = Math.max(DEFAULT_VALIDITY_SECONDS, leastValiditySeconds(timeout))
  return {
    accepts: [options.accepts].flat().map((option) => ({
      ...option,
      maxTimeoutSeconds: option.maxTimeoutSeconds ?? validity,
    })),
    description: options.description ?? '',
    mimeType: options.mimeType ?? '',
    extensions: options.extensions ?? {},
    ownExtensions: options.ownExtensions ?? OWN_EXTENSIONS,
    charge: { ...options.charge, invalid: options.charge.invalid ?? 'refuse' },
    priceList: options.priceList,
    onPending: options.onPending ?? 'withhold',
    timeout,
    holdBytes: options.holdBytes ?? 1024 * 1024,
    free: options.free,
  }
}

function leastValiditySeconds(timeout: number): number {
  return Math.ceil(timeout / 1000) + MAX_SETTLEMENT_SECONDS + BUYER_SECONDS
}

/** All faults of a route's options, as `field: problem`. */
export function routeFaults(options: unknown): string[] {
  if (typeof options !== 'object' || options === null) return ['expected {accepts, charge, …}']
  const given = options as Partial<Record<keyof PaidRouteOptions, unknown>>
  const faults: string[] = []
  const positive = (value: unknown, field: string, least: number) => {
    if (value !== undefined && !(Number.isSafeInteger(value) && (value as number) >= least)) {
      faults.push(`${field}: expected an integer of at least ${least}, got ${JSON.stringify(value)}`)
    }
  }
  positive(given.timeout, 'timeout', 1)
  positive(given.holdBytes, 'holdBytes', 0)
  for (const name of ['description', 'mimeType'] as const) {
    if (given[name] !== undefined && typeof given[name] !== 'string') faults.push(`${name}: expected a string`)
  }
  faults.push(...extensionFaults(given.extensions))
  const { ownExtensions } = given
  const isOwn = (name: unknown) => OWN_EXTENSIONS.includes(name as OwnExtension)
  if (ownExtensions !== undefined && !(Array.isArray(ownExtensions) && ownExtensions.every(isOwn))) {
    faults.push(`ownExtensions: expected a list of ${oneOf(OWN_EXTENSIONS)}, got ${JSON.stringify(ownExtensions)}`)
  }
  if (given.free !== undefined && typeof given.free !== 'function') faults.push('free: expected a function')
  const { onPending } = given
  if (onPending !== undefined && onPending !== 'withhold' && onPending !== 'deliver') {
    faults.push(`onPending: expected "withhold" or "deliver", got ${JSON.stringify(onPending)}`)
  }
  const { priceList } = given as { priceList?: unknown }
  if (priceList !== undefined && typeof (priceList as PriceList | null)?.version !== 'string') {
    faults.push('priceList.version: expected a string')
  }
  const accepts = given.accepts === undefined ? [] : [given.accepts].flat()
  if (accepts.length === 0) faults.push('accepts: is missing: give at least one payment option')
  const timeout = typeof given.timeout === 'number' ? given.timeout : 30_000
  accepts.forEach((option, index) => {
    faults.push(...optionFaults(option, `accepts[${index}]`, leastValiditySeconds(timeout)))
  })
  const prices = accepts.map((option) => (option as Partial<PaymentOption> | null)?.price)
  const dollars = prices.filter((price) => typeof price === 'string' && isDollars(price))
  faults.push(...policyFaults(given.charge, dollars as string[]))
  if (accepts.some((option) => (option as Partial<PaymentOption> | null)?.paymentFlow === 'upfront'))
    faults.push(...upfrontFaults(given.charge))
  return faults
}

function extensionFaults(extensions: unknown): string[] {
  if (extensions === undefined) return []
  if (!isObject(extensions)) return ['extensions: expected an object of {info, schema} by name']
  return Object.entries(extensions)
    .filter(([, extension]) => !isObject(extension) || !isObject(extension.info) || !isObject(extension.schema))
    .map(([name]) => `extensions[${JSON.stringify(name)}]: expected {info, schema}`)
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function optionFaults(option: unknown, field: string, leastValidity: number): string[] {
  if (typeof option !== 'object' || option === null) return [`${field}: expected a payment option`]
  const { scheme, price, network, payTo, asset, assetTransferMethod, paymentFlow, maxTimeoutSeconds } =
    option as Partial<Record<string, unknown>>
  const faults: string[] = []
  const got = (value: unknown) => `got ${JSON.stringify(value)}`
  if (!SCHEMES.includes(scheme as Scheme)) faults.push(`${field}.scheme: expected "upto" or "exact", ${got(scheme)}`)
  if (typeof price !== 'string' || !isDollars(price) || /^\$0*(\.0*)?$/.test(price)) {
    faults.push(`${field}.price: expected a positive dollar amount such as "$0.10", ${got(price)}`)
  }
  if (typeof network !== 'string' || !/^eip155:[1-9]\d*$/.test(network)) {
    faults.push(`${field}.network: expected a CAIP-2 EVM network such as "eip155:8453", ${got(network)}`)
  }
  const methods = scheme === 'upto' ? ['permit2'] : ASSET_TRANSFER_METHODS
  if (assetTransferMethod !== undefined && !methods.includes(assetTransferMethod as AssetTransferMethod))
    faults.push(`${field}.assetTransferMethod: expected ${oneOf(methods)} for ${scheme}, ${got(assetTransferMethod)}`)
  // The price of `upto` is known only after the handler.
  const flows = scheme === 'upto' ? ['authorization'] : PAYMENT_FLOWS
  if (paymentFlow !== undefined && !flows.includes(paymentFlow as PaymentFlow))
    faults.push(`${field}.paymentFlow: expected ${oneOf(flows)} for ${scheme}, ${got(paymentFlow)}`)
  if (!isAddress(payTo)) faults.push(`${field}.payTo: expected a 20-byte hex address, ${got(payTo)}`)
  if (typeof asset === 'string' && !isAddress(asset)) {
    faults.push(`${field}.asset: expected a 20-byte hex address, ${got(asset)}`)
  } else if (typeof asset === 'object' && asset !== null) {
    const { address, decimals } = asset as Partial<Record<string, unknown>>
    if (!isAddress(address)) faults.push(`${field}.asset.address: expected a 20-byte hex address, ${got(address)}`)
    if (!Number.isInteger(decimals) || (decimals as number) < 0 || (decimals as number) > 77) {
      faults.push(`${field}.asset.decimals: expected an integer from 0 to 77, ${got(decimals)}`)
    }
  }
  if (maxTimeoutSeconds !== undefined) {
    if (!Number.isSafeInteger(maxTimeoutSeconds) || (maxTimeoutSeconds as number) < leastValidity) {
      faults.push(
        `${field}.maxTimeoutSeconds: expected at least ${leastValidity} (the route's time-out, ${MAX_SETTLEMENT_SECONDS} s to settle if blocks are slow, and ${BUYER_SECONDS} s to pay), ${got(maxTimeoutSeconds)}`,
      )
    }
  }
  return faults
}

function oneOf(values: readonly string[]): string {
  return values.map((value) => JSON.stringify(value)).join(' or ')
}

function isAddress(value: unknown): boolean {
  return typeof value === 'string' && /^0x[0-9a-fA-F]{40}$/.test(value)
}
