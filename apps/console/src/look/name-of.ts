import { KNOWN_CONTRACTS } from '../names/known-contracts.js'
import type { AssetChanges } from './assets.js'
import type { TokenUnits } from './token-units.js'

/** A contract's name; undefined if unknown. */
export type NameOf = (address: string) => string | undefined

/**
 * Names contracts that all chains have, and tokens by their own symbols.
 * @param units units of tokens that nothing transfers
 */
export function nameOfFor({ transfers, approvals }: AssetChanges, units: ReadonlyMap<string, TokenUnits>): NameOf {
  const symbols = new Map<string, string>()
  for (const [address, { symbol }] of units) if (symbol !== undefined) symbols.set(address, symbol)
  for (const { address, symbol } of [...transfers, ...approvals.map(({ token }) => token)])
    if (address !== undefined && symbol !== undefined) symbols.set(address, symbol)
  return (address) => KNOWN_CONTRACTS[address.toLowerCase()] ?? symbols.get(address.toLowerCase())
}
