import { ErrorCode, RpcError } from '@upfront/protocol'

/** Kinds of node failures, as named in metrics and error data. */
export type FaultKind =
  | 'timeout'
  | 'connection'
  | 'http-status'
  | 'too-large'
  | 'not-json'
  | 'malformed'
  | 'batch-refused'
  | 'missing-answer'
  | 'rpc-error'
  | 'null'
  | 'wrong-chain'

/** The failure of one attempt. Becomes an `UpstreamError` if no attempt is left. */
export class UpstreamFault extends Error {
  override readonly name = 'UpstreamFault'
  constructor(
    readonly kind: FaultKind,
    message: string,
    readonly detail: {
      /** HTTP status, if there was one. */
      status?: number
      /** The node's own error object, for `rpc-error`. */
      rpc?: RpcErrorObject
      /** The pause that the node asked for, milliseconds. */
      retryAfter?: number
      /** The chain that the node serves, for `wrong-chain`. */
      chainId?: bigint
    } = {},
  ) {
    super(message)
  }
}

export interface RpcErrorObject {
  code: number
  message: string
  data?: unknown
}

/** What users see of a failed node: its host and port, never the path, query or user info of its URL. */
export class UpstreamError extends RpcError {
  constructor(
    readonly fault: UpstreamFault,
    upstream: string,
    method: string,
    attempts: number,
  ) {
    super(
      ErrorCode.internalError,
      `upstream ${upstream}: ${method}: ${fault.message}${attempts > 1 ? ` (${attempts} attempts)` : ''}`,
      {
        upstream,
        method,
        fault: fault.kind,
        attempts,
        ...(fault.detail.status === undefined ? {} : { status: fault.detail.status }),
        ...(fault.detail.rpc === undefined ? {} : { error: fault.detail.rpc }),
      },
      fault.kind === 'timeout' ? 504 : 502,
    )
  }
}

/** The message of anything thrown. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
