import { ErrorCode, RpcError } from '@upfront/protocol'

/** What the client is told of `error`: its own words where they are meant for clients, nothing else. */
export function asRpcError(error: unknown): RpcError {
  return error instanceof RpcError ? error : new RpcError(ErrorCode.internalError, 'internal error', undefined, 500)
}
