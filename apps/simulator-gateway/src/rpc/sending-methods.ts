import { passThrough, type UpstreamClient, UpstreamError, UpstreamRefusal } from '@upfront/node'
import { decodeBytes, ErrorCode, RpcError } from '@upfront/protocol'
import { keccak256 } from 'viem'
import type { RpcMethod } from '../requests/rpc-method.js'
import { decoding } from './reading.js'

/** Served if `SENDING=on`. The second returns the receipt (EIP-7966). */
export const SENDING_METHODS = ['eth_sendRawTransaction', 'eth_sendRawTransactionSync']

/** Nodes' errors for a transaction that they already have. */
const KNOWN = /already known|known transaction|already imported|already exists/i

/**
 * Forward signed transactions to the node, in one attempt. If the answer is lost, the transaction may have been sent: the error has its
 * hash for look-up, and sending the same bytes again is safe.
 */
export function sendingMethods(client: UpstreamClient): Map<string, RpcMethod> {
  return new Map(
    SENDING_METHODS.map((name) => [
      name,
      decoding(async (params, context) => {
        const hash = hashOf(params[0])
        try {
          return await passThrough(client, name, params, context, { attempts: 1 })
        } catch (error) {
          if (error instanceof UpstreamRefusal && name === 'eth_sendRawTransaction' && KNOWN.test(error.message))
            return JSON.stringify(hash)
          if (!(error instanceof UpstreamError)) throw error
          const message = `the node did not answer; the transaction may have been sent: look up ${hash}`
          throw new RpcError(ErrorCode.internalError, message, { hash }, 502)
        }
      }),
    ]),
  )
}

/** @throws DecodeError */
function hashOf(raw: unknown): string {
  return keccak256(decodeBytes(raw, undefined, 'params[0]'))
}
