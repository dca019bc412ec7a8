import { UpstreamError } from '@upfront/node'
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
