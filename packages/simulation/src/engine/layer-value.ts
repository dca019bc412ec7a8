import { ZERO_HASH } from '@upfront/protocol'
import type { StateLayer, StateRead, StateValue } from './state.js'

/** The value from the newest layer that determines it; undefined if none does. */
export function layerValue(layers: readonly StateLayer[], read: StateRead): StateValue | undefined {
  if (read.kind === 'blockHash') return undefined
  for (let index = layers.length - 1; index >= 0; index--) {
    const change = layers[index]!.accounts.get(read.address)
    if (!change) continue
    const value = read.kind === 'storage' ? change.storage.get(read.slot) : change[read.kind]
    if (value !== undefined) return value
    if (read.kind === 'storage' && change.storageCleared) return ZERO_HASH
  }
  return undefined
}
