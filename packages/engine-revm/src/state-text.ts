import type { StateLayer, StateRead, StateValue } from '@upfront/simulation'
import { flag, list, optionalQuantity, optionalText, slotText } from './plan-text.js'
import type { TextReader } from './text-reader.js'

/** The reads that the addon asks for. */
export function readReads(reader: TextReader): StateRead[] {
  const reads: StateRead[] = []
  for (let left = reader.number(); left > 0; left--) {
    const kind = reader.word()
    switch (kind) {
      case 'balance':
      case 'nonce':
      case 'code':
        reads.push({ kind, address: reader.hex() })
        break
      case 'storage':
        reads.push({ kind, address: reader.hex(), slot: reader.hex() })
        break
      default:
        reads.push({ kind: 'blockHash', number: reader.bigint() })
    }
  }
  return reads
}

/** Values of reads, in order. */
export function valuesText(values: readonly StateValue[]): string {
  let text = ''
  for (const value of values) text += `${typeof value === 'bigint' ? value.toString(16) : value}\n`
  return text
}

export function layerText(layer: StateLayer): string {
  return list(
    [...layer.accounts],
    ([address, change]) =>
      `${address}\n` +
      optionalQuantity(change.balance) +
      optionalQuantity(change.nonce) +
      optionalText(change.code) +
      flag(change.storageCleared) +
      list([...change.storage], slotText),
  )
}
