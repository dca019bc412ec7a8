import { decodeStateParameter, type StateParameter } from '../block-parameter.js'
import { DecodeError, mismatch, Place } from '../decode/decode-error.js'
import { decodeBlockOverrides } from '../simulate/decode-block-overrides.js'
import { decodeCall } from '../simulate/decode-call.js'
import { decodeStateOverrides } from '../simulate/decode-state-overrides.js'
import type { BlockOverrides, Call, StateOverride } from '../simulate/simulation-request.js'

/** The decoded `params` of `eth_call` and `eth_estimateGas`. */
export interface CallRequest {
  call: Call
  block: StateParameter
  /** In ascending order of address, each address once. */
  stateOverrides: StateOverride[]
  blockOverrides: BlockOverrides
}

/**
 * Decodes the `params` of `eth_call` and `eth_estimateGas`: `[call, block, stateOverrides, blockOverrides]`. All but the first
 * are optional; `block` defaults to `latest`.
 * @throws RpcError -32602 with the place of the error
 */
export function decodeCallRequest(params: unknown): CallRequest {
  if (!Array.isArray(params)) throw mismatch(undefined, 'params to be [call, block]', params)
  if (params.length > 4) throw new DecodeError(undefined, `expected at most four params, got ${params.length}`)
  const [call, block, stateOverrides, blockOverrides] = params
  return {
    call: decodeCall(call, place(0)),
    block: decodeStateParameter(block ?? 'latest', place(1)),
    stateOverrides: stateOverrides == null ? [] : decodeStateOverrides(stateOverrides, place(2)),
    blockOverrides: blockOverrides == null ? {} : decodeBlockOverrides(blockOverrides, place(3)),
  }
}

function place(index: number): Place {
  return new Place(undefined, `params[${index}]`)
}
