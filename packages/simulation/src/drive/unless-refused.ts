import { ErrorCode, RpcError } from '@upfront/protocol'

/** Undefined where a call is no transaction under such circumstances. */
export async function unlessRefused<T>(run: () => T | PromiseLike<T>): Promise<T | undefined> {
  try {
    return await run()
  } catch (error) {
    if (error instanceof RpcError && error.code !== ErrorCode.limitExceeded) return undefined
    throw error
  }
}
