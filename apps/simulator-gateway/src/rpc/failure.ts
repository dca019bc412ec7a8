import { UpstreamRefusal } from '@upfront/node'
import { ErrorCode, RpcError, type RpcFailure, type RpcId } from '@upfront/protocol'
import { ChainMismatch } from '@upfront/simulation'
import { ClientGone } from '../limits/refused.js'

/** An error as the client sees it: its message if it is meant for clients, otherwise `internal error`. */
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
  if (thrown instanceof ChainMismatch)
    return { error: { code: ErrorCode.internalError, message: thrown.message }, httpStatus: 502 }
  return { error: { code: ErrorCode.internalError, message: 'internal error' }, httpStatus: 500 }
}

export function failureBody(id: RpcId, { error }: Failure): string {
  return JSON.stringify({ jsonrpc: '2.0', id, error } satisfies RpcFailure)
}

const OUTCOMES: ReadonlyMap<number, string> = new Map([
  [-32700, 'parse_error'],
  [-32600, 'invalid_request'],
  [-32601, 'method_not_found'],
  [-32602, 'invalid_params'],
  [-32005, 'limit_exceeded'],
  [-38026, 'limit_exceeded'],
])

/** The outcome of a call, for metrics. @param thrown the error behind the failure */
export function outcomeOf({ error, httpStatus }: Failure, thrown: unknown): string {
  if (thrown instanceof ClientGone) return 'client_gone'
  if (httpStatus === 502 || httpStatus === 504) return 'upstream_failed'
  if (httpStatus === 500) return 'internal_error'
  return OUTCOMES.get(error.code) ?? 'rejected'
}
