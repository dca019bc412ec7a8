import { keccak_256 } from '@noble/hashes/sha3.js'
import type { Address } from '@upfront/protocol'
import { hexOf } from '../state/bytes.js'

/** EIP-55, as addresses are written in geth's messages. */
export function checksumAddress(address: Address): string {
  const digits = address.slice(2)
  const hash = hexOf(keccak_256(new TextEncoder().encode(digits))).slice(2)
  const cased = [...digits].map((digit, index) =>
    Number.parseInt(hash[index]!, 16) >= 8 ? digit.toUpperCase() : digit,
  )
  return `0x${cased.join('')}`
}
