import type { Address, StateOverride } from '@upfront/protocol'
import type { Precompiles } from '../evm/simulation-evm.js'
import type { WorldState } from '../state/world-state.js'
import { CallRejected } from './call-rejected.js'

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
      throw new CallRejected({ kind: 'takenByPrecompile', address })
    }
    const precompile = precompiles.get(address)
    if (destination !== undefined) {
      if (!precompile) {
        throw new CallRejected({ kind: 'notPrecompile', address })
      }
      if (overridden.has(destination)) {
        throw new CallRejected({ kind: 'alreadyOverridden', address: destination })
      }
      precompiles.set(destination, precompile)
      destinations.add(destination)
    }
    if (precompile) precompiles.delete(address)
    world.override(override)
  }
}
