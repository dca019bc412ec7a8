import { type Cancellation, UpstreamError } from '@upfront/node'
import { ErrorCode, RpcError } from '@upfront/protocol'
import { BlockMoved } from '../block/pinned-block.js'

/** Runs; returns undefined if a call is no valid transaction under these circumstances. */
export async function runIfValid<T>(run: () => T | PromiseLike<T>): Promise<T | undefined> {
  try {
    return await run()
  } catch (error) {
    const isOfCall = !(error instanceof UpstreamError || error instanceof BlockMoved)
    if (isOfCall && error instanceof RpcError && error.code !== ErrorCode.limitExceeded) return undefined
    throw error
  }
}

/**
 * The reason why an optional run failed at the node.
 * @param isForAll for sold answers, which must be reproducible: no run is optional
 * @throws the error if it must end the request
 */
export function nodeFailureReason(
  error: unknown,
  { cancellation, isForAll }: { cancellation: Cancellation; isForAll: boolean },
): string {
  cancellation.signal.throwIfAborted()
  if (!isForAll && (error instanceof UpstreamError || error instanceof BlockMoved)) return error.message
  throw error
}
