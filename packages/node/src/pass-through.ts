import type { CallLimits, UpstreamClient } from './upstream-client.js'
import { type RpcErrorObject, UpstreamError, type UpstreamFault } from './upstream-fault.js'

const ANSWER_BYTES = 32 * 1024 * 1024
/** A node may work longer on a call than on a read of its state. */
const ATTEMPT_TIMEOUT_MS = 12_000

/** The node's own answer to a call that was passed on, when it is an error: the client's to see as it stands. */
export class UpstreamRefusal extends Error {
  override readonly name = 'UpstreamRefusal'
  constructor(readonly error: RpcErrorObject) {
    super(error.message)
  }
}

/** @throws UpstreamRefusal, UpstreamError, or the signal's reason */
export async function passThrough(
  client: UpstreamClient,
  method: string,
  params: readonly unknown[],
  limits: CallLimits,
): Promise<unknown> {
  try {
    return await client.call(
      {
        method,
        params,
        decode: (result) => result,
        maxBytes: ANSWER_BYTES,
        attemptTimeoutMs: ATTEMPT_TIMEOUT_MS,
        retriesError: isBusy,
      },
      limits,
    )
  } catch (error) {
    const own = error instanceof UpstreamError ? error.fault.detail.rpc : undefined
    if (error instanceof UpstreamError && own !== undefined && !isBusy(error.fault)) throw new UpstreamRefusal(own)
    throw error
  }
}

/** Limit exceeded (EIP-1474) or HTTP 429 in JSON's clothes: about the moment, not about the call. */
function isBusy(fault: UpstreamFault): boolean {
  const code = fault.detail.rpc?.code
  return code === -32005 || code === 429
}
