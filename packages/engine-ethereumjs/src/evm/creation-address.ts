import { bigIntToBytes, generateAddress, generateAddress2 } from '@ethereumjs/util'
import type { Address } from '@upfront/protocol'
import { bytesOf, hexOf } from '../state/bytes.js'

/** Of CREATE: the creator's nonce as it was before. */
export function creationAddress(creator: Address, nonce: bigint): Address {
  return hexOf(generateAddress(bytesOf(creator), bigIntToBytes(nonce)))
}

export function creationAddress2(creator: Address, salt: Uint8Array, initCode: Uint8Array): Address {
  return hexOf(generateAddress2(bytesOf(creator), salt, initCode))
}
