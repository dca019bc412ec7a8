import { type Cancellation, UpstreamError } from '@upfront/node'
import { ErrorCode, RpcError } from '@upfront/protocol'
import { BlockMoved } from '../block/pinned-block.js'

/** Undefined where a call is no transaction under such circumstances. */
export async function unlessRefused<T>(run: () => T | PromiseLike<T>): Promise<T | undefined> {
  try {
    return await run()
  } catch (error) {
    const isOfCall = !(error instanceof UpstreamError || error instanceof BlockMoved)
    if (isOfCall && error instanceof RpcError && error.code !== ErrorCode.limitExceeded) return undefined
    throw error
  }
}

/**
 * Why the node did not answer a run that an answer can do without, in words.
 * @param isForAll what is sold has to be the same for whoever executes it again: it can do without none
 * @throws the error itself where that ends the request
 */
export function unanswered(
  error: unknown,
  { cancellation, isForAll }: { cancellation: Cancellation; isForAll: boolean },
): string {
  cancellation.signal.throwIfAborted()
  if (!isForAll && (error instanceof UpstreamError || error instanceof BlockMoved)) return error.message
  throw error
}
