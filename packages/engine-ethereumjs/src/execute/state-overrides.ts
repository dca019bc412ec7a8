import { type Address, ErrorCode, type StateOverride } from '@upfront/protocol'
import type { Precompiles } from '../evm/simulation-evm.js'
import type { WorldState } from '../state/world-state.js'
import { CallRejected } from './call-rejected.js'
import { checksumAddress } from './checksum-address.js'

/**
 * Applies a block's overrides, in ascending order of address, to the state and to `precompiles`. Any override of a
 * precompile's address removes the precompile.
 */
export function applyStateOverrides(
  overrides: readonly StateOverride[],
  world: WorldState,
  precompiles: Precompiles,
): void {
  const overridden = new Set(overrides.map(({ address }) => address))
  const destinations = new Set<Address>()
  for (const override of overrides) {
    const { address, movePrecompileToAddress: destination } = override
    if (destinations.has(address)) {
      throw new CallRejected(
        ErrorCode.serverError,
        `account ${checksumAddress(address)} has already been overridden by a precompile`,
      )
    }
    const precompile = precompiles.get(address)
    if (destination !== undefined) {
      if (!precompile) {
        throw new CallRejected(ErrorCode.serverError, `account ${checksumAddress(address)} is not a precompile`)
      }
      if (overridden.has(destination)) {
        throw new CallRejected(ErrorCode.serverError, `account ${checksumAddress(destination)} is already overridden`)
      }
      precompiles.set(destination, precompile)
      destinations.add(destination)
    }
    if (precompile) precompiles.delete(address)
    world.override(override)
  }
}
