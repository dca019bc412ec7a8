import { formatUnits } from 'viem'
import type { Named } from '../names/decode.js'
import type { Frame } from './answer.js'
import type { AssetChanges } from './assets.js'
import { failedPath } from './outcome.js'

/** Decimals and symbol as the token returns them. */
export interface TokenUnits {
  decimals: number
  symbol?: string
}

/** The units of a token; undefined if unknown. */
export type UnitsOf = (address: string) => TokenUnits | undefined

/**
 * @param trace of a failed call: its error may give the decimals of its token
 * @param asked units of tokens that were queried
 */
export function unitsOfFor(
  { transfers, approvals }: AssetChanges,
  trace?: Frame,
  asked: ReadonlyMap<string, TokenUnits> = new Map(),
): UnitsOf {
  const units = new Map(asked)
  const failed = trace && failedToken(trace)
  if (failed !== undefined && !units.has(failed.address)) units.set(failed.address, { decimals: failed.decimals })
  for (const { address, decimals, symbol } of [...transfers, ...approvals.map(({ token }) => token)])
    if (address !== undefined && decimals !== undefined)
      units.set(address, { decimals, ...(symbol !== undefined && { symbol }) })
  return (address) => units.get(address.toLowerCase())
}

/** The contract whose error the call passes on, with its decimals. For a proxy, the proxy rather than its implementation. */
function failedToken(trace: Frame): { address: string; decimals: number } | undefined {
  const path = failedPath(trace)
  const decimals = path.at(-1)?.decoded?.error?.decimals
  const address = path.findLast(({ type }) => type !== 'DELEGATECALL')?.to?.toLowerCase()
  return address === undefined || decimals === undefined ? undefined : { address, decimals }
}

/**
 * Formats an argument that is an amount of a token with known units, such as `1.5 WETH`. The token is the called one, by its standard, or
 * the one that another argument names, as `tokenIn` does for `amountIn`.
 * @param to the called contract
 */
export function amountArgument(
  { from, args }: Named,
  argument: string,
  to: string | undefined,
  unitsOf: UnitsOf,
): string | undefined {
  const value = args[argument]
  const isOwn = (from === 'ERC-20' || from === 'WETH') && /^(?:value|amount|wad)$/.test(argument)
  const named = /^amount(?:In|Out)?$/.test(argument) ? args[argument.replace('amount', 'token')] : undefined
  const token = isOwn ? to : named
  const units = typeof token === 'string' ? unitsOf(token) : undefined
  if (units === undefined || typeof value !== 'string' || !/^\d{1,76}$/.test(value)) return undefined
  return `${formatUnits(BigInt(value), units.decimals)} ${units.symbol ?? ''}`.trim()
}
