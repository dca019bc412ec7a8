import { knownSignatures } from '@upfront/signatures'
import { type AbiItems, readAbi } from './abi-decoder.js'

let known: Promise<AbiItems> | undefined

/** The built-in signatures, parsed on first use. */
export function knownAbi(): Promise<AbiItems> {
  known ??= readAbi(knownSignatures())
  return known
}
