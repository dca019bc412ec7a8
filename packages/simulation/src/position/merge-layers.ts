import type { Address, Hash } from '@upfront/protocol'
import type { AccountChange, StateLayer } from '../engine/state.js'

let count = 0

/** One layer with the combined changes. @param layers oldest first */
export function mergeLayers(layers: readonly StateLayer[]): StateLayer {
  const accounts = new Map<Address, AccountChange>()
  for (const layer of layers)
    for (const [address, later] of layer.accounts) {
      const earlier = accounts.get(address)
      accounts.set(address, earlier === undefined ? later : overlay(earlier, later))
    }
  count += 1
  return { id: `merged-${count}`, accounts }
}

function overlay(earlier: AccountChange, later: AccountChange): AccountChange {
  const storage = later.storageCleared ? later.storage : overlayStorage(earlier.storage, later.storage)
  return { ...earlier, ...later, storageCleared: earlier.storageCleared || later.storageCleared, storage }
}

function overlayStorage(earlier: ReadonlyMap<Hash, Hash>, later: ReadonlyMap<Hash, Hash>): ReadonlyMap<Hash, Hash> {
  if (later.size === 0) return earlier
  return earlier.size === 0 ? later : new Map([...earlier, ...later])
}
