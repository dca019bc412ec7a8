import { ErrorCode, RpcError } from '@upfront/protocol'

/** What can go wrong with a node, as metrics and error data name it. */
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

/** One attempt's failure. Becomes an `UpstreamError` once no attempt is left. */
export class UpstreamFault extends Error {
  override readonly name = 'UpstreamFault'
  constructor(
    readonly kind: FaultKind,
    message: string,
    readonly detail: {
      /** HTTP status, where there was one. */
      status?: number
      /** The node's own error object, for `rpc-error`. */
      rpc?: RpcErrorObject
      /** How long the node asked us to wait, milliseconds. */
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

/** What users see of a node that failed: its host and port, never its URL's path, query or user info. */
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

/** What an error of any kind says. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
