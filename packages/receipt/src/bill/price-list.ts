/** Prices of a simulation, in plain decimal dollars such as `$0.001`. */
export interface PriceList {
  /** Named in every answer, so that a charge can be recomputed later. */
  version: string
  /** The most that one request costs, and the amount that a buyer authorizes. */
  maximum: Dollars
  base: Dollars
  perMillionGas: Dollars
  /** Per thousand distinct accounts and storage slots touched by the calls. */
  perThousandTouched: Dollars
  /** Per million bytes of the witness, if the buyer asks for one (`witness=1`). */
  perMillionWitnessBytes: Dollars
}

export type Dollars = `$${string}`

export const DEFAULT_PRICE_LIST: PriceList = {
  version: '2026-11-22',
  maximum: '$0.10',
  base: '$0.001',
  perMillionGas: '$0.0001',
  perThousandTouched: '$0.005',
  perMillionWitnessBytes: '$0.01',
}

/** What a simulation used. All of it is stated in the answer. */
export interface Usage {
  /** Gas of all calls, including failed ones. */
  gas: bigint
  accounts: number
  slots: number
  /** Length of the witness as JSON; 0 without a witness. */
  witnessBytes: number
}

const PRICES = ['maximum', 'base', 'perMillionGas', 'perThousandTouched', 'perMillionWitnessBytes'] as const
const DOLLARS = /^\$(\d{1,9})(?:\.(\d{1,18}))?$/

/**
 * Decodes a price list from JSON. `perMillionWitnessBytes` has a default, so that lists from before witnesses existed stay valid.
 * @throws Error that names the field
 */
export function decodePriceList(text: string): PriceList {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    throw new Error('expected a JSON object')
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw new Error('expected a JSON object')
  const given = value as Record<string, unknown>
  const unknown = Object.keys(given).find((name) => name !== 'version' && !PRICES.some((price) => price === name))
  if (unknown !== undefined) throw new Error(`${unknown}: not known`)
  const { version } = given
  if (typeof version !== 'string' || !/^[\w.-]{1,40}$/.test(version))
    throw new Error('version: expected a word of at most 40 characters')
  const price = (name: (typeof PRICES)[number]): Dollars => {
    const found = given[name] ?? (name === 'perMillionWitnessBytes' ? DEFAULT_PRICE_LIST[name] : undefined)
    if (typeof found !== 'string' || !DOLLARS.test(found))
      throw new Error(`${name}: expected a plain dollar amount such as "$0.001"`)
    return found as Dollars
  }
  const list = {
    version,
    maximum: price('maximum'),
    base: price('base'),
    perMillionGas: price('perMillionGas'),
    perThousandTouched: price('perThousandTouched'),
    perMillionWitnessBytes: price('perMillionWitnessBytes'),
  }
  if (atto(list.maximum) === 0n) throw new Error('maximum: has to be above $0')
  if (atto(list.base) > atto(list.maximum)) throw new Error('base: is above the maximum')
  return list
}

/** The charge in the asset's smallest unit, rounded down, and at most `maximum` (same unit). */
export function meter(usage: Usage, list: PriceList, decimals: number, maximum: bigint): bigint {
  const units = priceOf(usage, list, decimals)
  return units > maximum ? maximum : units
}

/** The price by the list, in the asset's smallest unit, rounded down. May exceed the maximum. */
export function priceOf({ gas, accounts, slots, witnessBytes }: Usage, list: PriceList, decimals: number): bigint {
  const total =
    atto(list.base) +
    (atto(list.perMillionGas) * gas) / 1_000_000n +
    (atto(list.perThousandTouched) * BigInt(accounts + slots)) / 1_000n +
    (atto(list.perMillionWitnessBytes) * BigInt(witnessBytes)) / 1_000_000n
  return attoToUnits(total, decimals)
}

/** Intrinsic gas of a transaction. */
const MIN_GAS = 21_000n

/**
 * Gas that the maximum pays for in addition to the base; undefined if the price does not depend on gas, because gas is free or the maximum
 * leaves less than a transaction's 21,000 for it.
 */
export function gasWithinMaximum({ maximum, base, perMillionGas }: PriceList): bigint | undefined {
  const price = atto(perMillionGas)
  if (price === 0n) return undefined
  const gas = ((atto(maximum) - atto(base)) * 1_000_000n) / price
  return gas < MIN_GAS ? undefined : gas
}

/** The maximum of a list in the smallest unit of an asset with these decimals, rounded down. */
export function maximumOf({ maximum }: Pick<PriceList, 'maximum'>, decimals: number): bigint {
  return attoToUnits(atto(maximum), decimals)
}

function attoToUnits(amount: bigint, decimals: number): bigint {
  return decimals >= 18 ? amount * 10n ** BigInt(decimals - 18) : amount / 10n ** BigInt(18 - decimals)
}

/** Converts dollars to units of 10⁻¹⁸. */
export function atto(dollars: Dollars): bigint {
  const [, whole = '0', fraction = ''] = DOLLARS.exec(dollars) ?? []
  return BigInt(whole + fraction.padEnd(18, '0'))
}
