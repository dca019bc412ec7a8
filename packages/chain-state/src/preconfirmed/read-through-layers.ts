import { ZERO_HASH } from '@upfront/protocol'
import type { StateLayer, StateRead, StateSource, StateValue } from '@upfront/simulation'

/** Values as they are on top of all layers: the newest layer that has one counts, and the pinned block below them. */
export async function readThroughLayers(
  source: StateSource,
  reads: readonly StateRead[],
  signal: AbortSignal,
): Promise<StateValue[]> {
  const values = reads.map((read) => layered(source.layers, read))
  const missing = reads.filter((_, i) => values[i] === undefined)
  const read = missing.length > 0 ? await source.read(missing, signal) : []
  let next = 0
  return values.map((value) => value ?? (read[next++] as StateValue))
}

function layered(layers: readonly StateLayer[], read: StateRead): StateValue | undefined {
  if (read.kind === 'blockHash') return undefined
  for (let i = layers.length - 1; i >= 0; i--) {
    const change = layers[i]?.accounts.get(read.address)
    if (!change) continue
    if (read.kind !== 'storage') {
      const value = change[read.kind]
      if (value !== undefined) return value
      continue
    }
    const value = change.storage.get(read.slot)
    if (value !== undefined) return value
    if (change.storageCleared) return ZERO_HASH
  }
  return undefined
}
