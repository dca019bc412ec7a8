import { type Input, RLP } from '@ethereumjs/rlp'
import { keccak_256 } from '@noble/hashes/sha3.js'
import type { Hash, Hex } from '@upfront/protocol'
import { bytesOf, EMPTY_BYTES, hexOf } from '../state/bytes.js'

/** Hex and bytes as they stand, quantities without leading zeros, `null` as empty bytes. */
export type RlpItem = Hex | Uint8Array | bigint | number | null | readonly RlpItem[]

export function encodeRlp(item: RlpItem): Uint8Array {
  return RLP.encode(input(item))
}

export function keccak(bytes: Uint8Array): Hash {
  return hexOf(keccak_256(bytes))
}

/** EIP-2718: type 0 has no prefix. */
export function withType(type: number, payload: Uint8Array): Uint8Array {
  if (type === 0) return payload
  const typed = new Uint8Array(payload.length + 1)
  typed[0] = type
  typed.set(payload, 1)
  return typed
}

function input(item: RlpItem): Input {
  if (item === null) return EMPTY_BYTES
  if (typeof item === 'string') return bytesOf(item)
  if (item instanceof Uint8Array || typeof item === 'bigint' || typeof item === 'number') return item
  return item.map(input)
}
