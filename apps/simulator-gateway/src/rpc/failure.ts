import { UpstreamRefusal } from '@upfront/node'
import { ErrorCode, RpcError, type RpcFailure, type RpcId } from '@upfront/protocol'
import { ChainMismatch } from '@upfront/simulation'

/** What a client is told about an error: its message if it is meant for clients, else nothing of it. */
export interface Failure {
  error: RpcFailure['error']
  httpStatus: number
}

export function failureOf(thrown: unknown): Failure {
  if (thrown instanceof RpcError) {
    const { code, message, data, httpStatus } = thrown
    return { error: data === undefined ? { code, message } : { code, message, data }, httpStatus }
  }
  if (thrown instanceof UpstreamRefusal) return { error: thrown.error, httpStatus: 200 }
  if (thrown instanceof ChainMismatch) {
    return { error: { code: ErrorCode.internalError, message: thrown.message }, httpStatus: 502 }
  }
  return { error: { code: ErrorCode.internalError, message: 'internal error' }, httpStatus: 500 }
}

export function failureBody(id: RpcId, { error }: Failure): string {
  return JSON.stringify({ jsonrpc: '2.0', id, error } satisfies RpcFailure)
}
