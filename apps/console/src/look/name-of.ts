import { KNOWN_CONTRACTS } from '../names/known-contracts.js'
import type { AssetChanges } from './assets.js'
import type { TokenUnits } from './token-units.js'

/** What a contract is called; undefined where nobody says. */
export type NameOf = (address: string) => string | undefined

/**
 * Names by what all chains have, and by what tokens call themselves.
 * @param units of tokens that nothing moves
 */
export function nameOfFor({ transfers, approvals }: AssetChanges, units: ReadonlyMap<string, TokenUnits>): NameOf {
  const symbols = new Map<string, string>()
  for (const [address, { symbol }] of units) if (symbol !== undefined) symbols.set(address, symbol)
  for (const { address, symbol } of [...transfers, ...approvals.map(({ token }) => token)])
    if (address !== undefined && symbol !== undefined) symbols.set(address, symbol)
  return (address) => KNOWN_CONTRACTS[address.toLowerCase()] ?? symbols.get(address.toLowerCase())
}
