import { ResultText } from './result-text.js'
import { isRateLimit } from './retry-policy.js'
import type { CallLimits, UpstreamCall } from './upstream-call.js'
import type { UpstreamClient } from './upstream-client.js'
import { type RpcErrorObject, UpstreamError } from './upstream-fault.js'

const ANSWER_BYTES = 32 * 1024 * 1024
/** A node may take longer for a call than for a read of its state. */
const ATTEMPT_TIMEOUT_MS = 12_000

/** The node's own JSON-RPC error for a passed-on call, shown to users unchanged. */
export class UpstreamRefusal extends Error {
  override readonly name = 'UpstreamRefusal'
  constructor(readonly error: RpcErrorObject) {
    super(error.message)
  }
}

/**
 * Passes a user's call on to the node.
 * @param options bounds on retries; `isShown: false` if the result is not shown to users and its reader treats it as untrusted
 * @returns the JSON of the result; a long one exactly as the node wrote it
 * @throws UpstreamRefusal, UpstreamError, or the signal's reason
 */
export async function passThrough(
  client: Pick<UpstreamClient, 'call'>,
  method: string,
  params: readonly unknown[],
  limits: CallLimits,
  options: Pick<UpstreamCall<unknown>, 'attempts' | 'isShown'> = {},
): Promise<string> {
  try {
    return await client.call<string>(
      {
        method,
        params,
        decode: (result) => (result instanceof ResultText ? result.json : JSON.stringify(result ?? null)),
        takesText: true,
        isShown: true,
        maxBytes: ANSWER_BYTES,
        attemptTimeoutMs: ATTEMPT_TIMEOUT_MS,
        retriesError: isRateLimit,
        ...options,
      },
      limits,
    )
  } catch (error) {
    const own = error instanceof UpstreamError ? error.fault.detail.rpc : undefined
    if (error instanceof UpstreamError && own !== undefined && !isRateLimit(error.fault)) throw new UpstreamRefusal(own)
    throw error
  }
}
