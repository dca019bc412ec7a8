import type { RpcMethod } from '../requests/rpc-method.js'
import { decoding, onHeadOf, orLatest, type Reading } from './reading.js'

const BLOCK_AT = 2

/** `eth_getProof`, where `passed` has it: by the node. A block under construction has no root to prove anything against: `pending` is the head. */
export function proofMethods(reading: Reading, passed: ReadonlyMap<string, RpcMethod>): Map<string, RpcMethod> {
  const pass = passed.get('eth_getProof')
  if (pass === undefined) return new Map()
  const method = decoding(async (given, context) => {
    const params = given.length < BLOCK_AT ? given : orLatest(given, BLOCK_AT)
    return pass(params.length > BLOCK_AT ? await onHeadOf(reading, params, BLOCK_AT, context) : params, context)
  })
  return new Map([['eth_getProof', method]])
}
