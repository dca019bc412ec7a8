import type { Hash, Hex } from '@upfront/protocol'

export const EMPTY_BYTES = new Uint8Array(0)

const UINT256_BITS = 256
const UINT64_BITS = 64

/** Wraps as geth's uint256 does. */
export function uint256(value: bigint): bigint {
  return BigInt.asUintN(UINT256_BITS, value)
}

/** Wraps as geth's uint64 does. */
export function uint64(value: bigint): bigint {
  return BigInt.asUintN(UINT64_BITS, value)
}

export function bytesOf(hex: Hex): Uint8Array {
  return new Uint8Array(Buffer.from(hex.slice(2), 'hex'))
}

export function hexOf(bytes: Uint8Array): Hex {
  return `0x${Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('hex')}`
}

export function hash32(value: bigint): Hash {
  return `0x${value.toString(16).padStart(64, '0')}`
}
