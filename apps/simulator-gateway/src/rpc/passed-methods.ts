import { decoding, onHeadOf, type Reading } from './reading.js'
import type { RpcMethod } from './rpc-method.js'

/** Where they have their block parameter. */
const BLOCK_AT = [
  ['eth_getProof', 2],
  ['eth_feeHistory', 1],
] as const

/**
 * The methods of `passed` that only the node can answer of a block: a block under construction has no root to prove anything against and no fee
 * history, so that `pending` is the head.
 */
export function passedMethods(reading: Reading, passed: ReadonlyMap<string, RpcMethod>): Map<string, RpcMethod> {
  const methods = new Map<string, RpcMethod>()
  for (const [name, at] of BLOCK_AT) {
    const pass = passed.get(name)
    if (pass === undefined) continue
    methods.set(
      name,
      decoding(async (params, context) =>
        pass(params.length > at ? await onHeadOf(reading, params, at, context) : params, context),
      ),
    )
  }
  return methods
}
