import { randomInt } from 'node:crypto'
import { GAS_SPONSORING } from '@upfront/protocol'
import type { FacilitatorClient } from '@x402/core/server'
import type { PaymentRequirements, SupportedKind, SupportedResponse } from '@x402/core/types'
import { UptoEvmScheme } from '@x402/evm/upto/server'
import { dollarsToUnits } from './amount.js'
import { isDurable } from './durable-facilitator.js'
import type { PaidRouteSettings, PaymentOption } from './paid-route-options.js'
import { priceListHash } from './price-list.js'

/** The offer made for one payment option. */
export interface Offer {
  /** `amount` is the maximum. */
  requirements: PaymentRequirements
  decimals: number
  /** Whether the facilitator takes an EIP-2612 permit of this token instead of the Permit2 approval. */
  isGasSponsored: boolean
}

/** An option that can never be offered, whatever the facilitator's state. `message` starts with the field. */
export class OfferError extends Error {
  override readonly name = 'OfferError'
}

/** How long offers may name a signer after it can no longer settle. */
const SUPPORTED_FOR_MS = 10_000

/** Makes offers from options. Asks the facilitator what it settles, and describes tokens given only by address. */
export class Offers {
  readonly #client: FacilitatorClient
  readonly #scheme = new UptoEvmScheme()
  readonly #assets = new Map<string, Promise<{ address: string; decimals: number; extra: Record<string, string> }>>()
  #known: { supported: SupportedResponse; until: number } | undefined
  #asking: Promise<SupportedResponse> | undefined

  constructor(client: FacilitatorClient) {
    this.#client = client
  }

  /** @throws OfferError, or the facilitator's error */
  async of(settings: PaidRouteSettings): Promise<Offer[]> {
    const offers = await Promise.all(settings.accepts.map((option, index) => this.#offer(option, `accepts[${index}]`)))
    const { priceList, ownExtensions } = settings
    if (priceList === undefined || ownExtensions.includes('charge-terms')) return offers
    const named = { priceListHash: priceListHash(priceList) }
    return offers.map(({ requirements, ...offer }) => ({
      ...offer,
      requirements: { ...requirements, extra: { ...requirements.extra, ...named } },
    }))
  }

  async #offer(option: PaidRouteSettings['accepts'][number], field: string): Promise<Offer> {
    const { kinds, extensions } = await this.#supported()
    const kind = kinds.find(
      ({ x402Version, scheme, network }) => x402Version === 2 && scheme === option.scheme && network === option.network,
    )
    if (kind === undefined)
      throw new OfferError(`${field}.network: the facilitator does not settle ${option.scheme} on ${option.network}`)
    const asset = await this.#asset(option, field)
    const units = dollarsToUnits(option.price, asset.decimals)
    if (units === undefined || units === 0n) {
      throw new OfferError(
        `${field}.price: ${option.price} is less than one unit of an asset with ${asset.decimals} decimals`,
      )
    }
    const base: PaymentRequirements = {
      scheme: option.scheme,
      network: option.network,
      amount: units.toString(),
      asset: asset.address,
      payTo: option.payTo,
      maxTimeoutSeconds: option.maxTimeoutSeconds,
      extra: { ...asset.extra },
    }
    if (option.scheme === 'exact') {
      const { name, version } = base.extra
      if (name === undefined || version === undefined)
        throw new OfferError(`${field}.asset: give its name and version, which buyers sign for the scheme exact`)
      const { assetTransferMethod, paymentFlow } = option
      const byPermit2 = assetTransferMethod === 'permit2'
      const extra = {
        ...base.extra,
        ...(byPermit2 ? { assetTransferMethod } : {}),
        ...(paymentFlow === 'upfront' ? { paymentFlow } : {}),
      }
      return {
        requirements: { ...base, extra },
        decimals: asset.decimals,
        isGasSponsored: byPermit2 && isGasSponsored(asset.address, kind, extensions),
      }
    }
    return {
      requirements: await this.#scheme.enhancePaymentRequirements(base, pickSigner(kind), []),
      decimals: asset.decimals,
      isGasSponsored: isGasSponsored(asset.address, kind, extensions),
    }
  }

  /** Cached. A stale answer is used while the facilitator does not answer. */
  async #supported(): Promise<SupportedResponse> {
    if (this.#known !== undefined && Date.now() < this.#known.until) return this.#known.supported
    this.#asking ??= this.#client
      .getSupported()
      .then((supported) => {
        this.#known = { supported, until: Date.now() + SUPPORTED_FOR_MS }
        return supported
      })
      .finally(() => {
        this.#asking = undefined
      })
    if (this.#known === undefined) return this.#asking
    const stale = this.#known.supported
    return this.#asking.catch(() => stale)
  }

  #asset(option: PaymentOption, field: string) {
    const { asset, network } = option
    const key = `${network} ${typeof asset === 'object' ? asset.address : asset}`
    const known = this.#assets.get(key)
    if (known !== undefined) return known
    const found = this.#findAsset(option, field)
    this.#assets.set(key, found)
    found.catch(() => this.#assets.delete(key))
    return found
  }

  async #findAsset(
    { asset, network }: PaymentOption,
    field: string,
  ): Promise<{ address: string; decimals: number; extra: Record<string, string> }> {
    if (asset === undefined) {
      const parsed = await this.#scheme.parsePrice('$1', network).catch(() => {
        throw new OfferError(`${field}.asset: is missing: give one, as no dollar token is known on ${network}`)
      })
      const decimals = this.#scheme.getAssetDecimals(parsed.asset, network)
      if (decimals === undefined) throw new OfferError(`${field}.asset: the decimals of ${parsed.asset} are unknown`)
      return { address: parsed.asset, decimals, extra: eip712Domain(parsed.extra ?? {}) }
    }
    if (typeof asset === 'object') {
      return { address: asset.address, decimals: asset.decimals, extra: eip712Domain(asset) }
    }
    const decimals = this.#scheme.getAssetDecimals(asset, network)
    if (isDurable(this.#client) && this.#client.describeAsset !== undefined) {
      const described = await this.#client.describeAsset(network, asset)
      if (described === undefined) throw new OfferError(`${field}.asset: the facilitator does not settle ${asset}`)
      return { address: asset, decimals: described.decimals, extra: eip712Domain(described) }
    }
    if (decimals === undefined) {
      throw new OfferError(`${field}.asset: the decimals of ${asset} are unknown: give {address, decimals}`)
    }
    return { address: asset, decimals, extra: {} }
  }
}

/**
 * A facilitator with several signers may list them as `extra.facilitatorAddresses`. Each offer names one of them at random to spread the
 * load; this needs no state shared by replicas, and works for buyers who ask only once.
 */
function pickSigner(kind: SupportedKind): SupportedKind {
  const signers = kind.extra?.facilitatorAddresses
  if (!Array.isArray(signers) || signers.length === 0) return kind
  return { ...kind, extra: { ...kind.extra, facilitatorAddress: signers[randomInt(signers.length)] } }
}

/**
 * A facilitator may state per token, as `extra.gasSponsoring`, which extension it serves. Clients sign for the first extension that an
 * offer names, even if the token does not support it. Only EIP-2612 permits are without risk for the facilitator.
 */
export function isGasSponsored(
  asset: string,
  { extra }: Pick<SupportedKind, 'extra'>,
  extensions: readonly string[] = [],
): boolean {
  const byToken = extra?.gasSponsoring
  const isTold = typeof byToken === 'object' && byToken !== null
  if (isTold) return (byToken as Record<string, unknown>)[asset.toLowerCase()] === GAS_SPONSORING
  return extensions.includes(GAS_SPONSORING)
}

function eip712Domain({ name, version }: { name?: unknown; version?: unknown }): Record<string, string> {
  return {
    ...(typeof name === 'string' ? { name } : {}),
    ...(typeof version === 'string' ? { version } : {}),
  }
}

/**
 * Returns the offer that a buyer accepted. With several signers, the accepted `facilitatorAddress` may differ from this offer's; the
 * facilitator refuses an address that is not its own.
 */
export function findAcceptedOffer(offers: readonly Offer[], accepted: PaymentRequirements): Offer | undefined {
  const offer = offers.find(({ requirements }) => hasSameTerms(requirements, accepted))
  if (offer === undefined || offer.requirements.scheme === 'exact') return offer
  const facilitatorAddress = accepted.extra.facilitatorAddress
  return {
    ...offer,
    requirements: { ...offer.requirements, extra: { ...offer.requirements.extra, facilitatorAddress } },
  }
}

/** Whether the offer is settled before the handler runs. */
export function isUpfront({ requirements }: Offer): boolean {
  return requirements.extra.paymentFlow === 'upfront'
}

function hasSameTerms(offered: PaymentRequirements, accepted: PaymentRequirements): boolean {
  const sameAddress = (one: string, other: string) => one.toLowerCase() === other.toLowerCase()
  return (
    offered.scheme === accepted.scheme &&
    offered.network === accepted.network &&
    offered.amount === accepted.amount &&
    offered.maxTimeoutSeconds === accepted.maxTimeoutSeconds &&
    sameAddress(offered.asset, accepted.asset) &&
    sameAddress(offered.payTo, accepted.payTo) &&
    (offered.scheme === 'exact' || typeof accepted.extra.facilitatorAddress === 'string') &&
    Object.entries(offered.extra).every(
      ([name, value]) => name === 'facilitatorAddress' || accepted.extra[name] === value,
    )
  )
}
