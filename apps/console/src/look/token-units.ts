import { formatUnits } from 'viem'
import type { Named } from '../names/decode.js'
import type { AssetChanges } from './assets.js'

/** What a token says of itself. */
export interface TokenUnits {
  decimals: number
  symbol?: string
}

/** The units of a token; undefined where they are not known. */
export type UnitsOf = (address: string) => TokenUnits | undefined

export function unitsOfFor({ transfers, approvals }: AssetChanges): UnitsOf {
  const units = new Map<string, TokenUnits>()
  for (const { address, decimals, symbol } of [...transfers, ...approvals.map(({ token }) => token)])
    if (address !== undefined && decimals !== undefined)
      units.set(address, { decimals, ...(symbol !== undefined && { symbol }) })
  return (address) => units.get(address.toLowerCase())
}

/** An argument that is an amount of the token itself, by the standard that names it: `1.5 WETH`. */
export function amountArgument(
  { from }: Named,
  argument: string,
  value: unknown,
  units: TokenUnits | undefined,
): string | undefined {
  const isAmount = (from === 'ERC-20' || from === 'WETH') && /^(?:value|amount|wad)$/.test(argument)
  if (!isAmount || units === undefined || typeof value !== 'string' || !/^\d{1,76}$/.test(value)) return undefined
  return `${formatUnits(BigInt(value), units.decimals)} ${units.symbol ?? ''}`.trim()
}
