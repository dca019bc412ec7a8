import { keccak_256 } from '@noble/hashes/sha3.js'
import type { ExecutedLog } from '@upfront/simulation'
import { bytesOf } from '../state/bytes.js'

const BLOOM_BYTES = 256
const BLOOM_BITS = 2048

/** Yellow Paper, 4.4.3: three bits for each address and topic. */
export function logsBloom(logs: readonly ExecutedLog[]): Uint8Array {
  const bloom = new Uint8Array(BLOOM_BYTES)
  const seen = new Set(logs.flatMap(({ address, topics }) => [address, ...topics]))
  for (const item of seen) {
    const hash = keccak_256(bytesOf(item))
    for (const pair of [0, 2, 4]) {
      const bit = ((hash[pair]! << 8) | hash[pair + 1]!) % BLOOM_BITS
      bloom[BLOOM_BYTES - 1 - (bit >> 3)]! |= 1 << (bit & 7)
    }
  }
  return bloom
}

export function mergeBlooms(blooms: readonly Uint8Array[]): Uint8Array {
  const merged = new Uint8Array(BLOOM_BYTES)
  for (const bloom of blooms) for (let index = 0; index < BLOOM_BYTES; index++) merged[index]! |= bloom[index]!
  return merged
}
