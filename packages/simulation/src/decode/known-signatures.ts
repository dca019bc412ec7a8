import { knownSignatures } from '@upfront/signatures'
import { type AbiItems, readAbi } from './abi-decoder.js'

let known: Promise<AbiItems> | undefined

/** What everybody knows, read once, with the first request for it. */
export function knownAbi(): Promise<AbiItems> {
  known ??= readAbi(knownSignatures())
  return known
}
