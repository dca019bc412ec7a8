import type { CancelSignal } from '@upfront/node'
import { ZERO_HASH } from '@upfront/protocol'
import type { StateLayer, StateRead, StateSource, StateValue } from './state-source.js'

/** Answers `reads` from the source's layers, newest first, and asks the source once for all the rest. */
export async function readThroughLayers(
  state: StateSource,
  reads: readonly StateRead[],
  signal: CancelSignal,
): Promise<StateValue[]> {
  const values = reads.map((read) => fromLayers(state.layers, read))
  const missing = reads.filter((_, index) => values[index] === undefined)
  if (missing.length === 0) return values as StateValue[]
  const below = await state.read(missing, signal)
  if (below.length !== missing.length) {
    throw new Error(`the state source answered ${below.length} of ${missing.length} reads`)
  }
  let next = 0
  return values.map((value) => value ?? below[next++]!)
}

function fromLayers(layers: readonly StateLayer[], read: StateRead): StateValue | undefined {
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
