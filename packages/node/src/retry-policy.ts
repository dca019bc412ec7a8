import type { UpstreamCall } from './upstream-call.js'
import type { UpstreamFault } from './upstream-fault.js'

const MAX_ATTEMPTS = 8
/** For faults that seldom pass on their own: rejected credentials, a wrong path. */
const MAX_ATTEMPTS_CLIENT_ERROR = 3
const MAX_ATTEMPTS_RPC_ERROR = 5
const MAX_ATTEMPTS_NULL = 6
const FIRST_BACKOFF_MS = 40
const MAX_BACKOFF_MS = 1_000
const MAX_RETRY_AFTER_MS = 5_000
/** HTTP statuses with which nodes reject batches. */
const REFUSING_STATUS = new Set([400, 405, 413, 415, 422, 501])
/** EIP-1474's "limit exceeded", the rate limits of QuickNode and Alchemy, and HTTP 429 as a JSON-RPC code. */
const RATE_LIMIT_CODES = new Set([-32005, -32007, -32097, 429])

/** Most attempts of a call after this fault. */
export function maxAttempts(call: UpstreamCall<unknown>, fault: UpstreamFault): number {
  return Math.min(call.attempts ?? MAX_ATTEMPTS, maxAttemptsAfter(call, fault))
}

function maxAttemptsAfter(call: UpstreamCall<unknown>, fault: UpstreamFault): number {
  if (fault.kind === 'null') return MAX_ATTEMPTS_NULL
  if (fault.kind === 'rpc-error') {
    const retries = call.retriesError?.(fault) ?? !isFinalRpcError(fault)
    return typeof retries === 'number' ? retries : retries ? MAX_ATTEMPTS_RPC_ERROR : 1
  }
  const { status } = fault.detail
  if (status !== undefined && status >= 400 && status < 500 && status !== 429 && status !== 408)
    return fault.kind === 'batch-refused' ? MAX_ATTEMPTS : MAX_ATTEMPTS_CLIENT_ERROR
  return MAX_ATTEMPTS
}

/** Pause before the next attempt, milliseconds: doubles each time, with jitter. What the node asked for instead, within bounds. */
export function backoff(attempt: number, retryAfter: number): number {
  if (retryAfter > 0) return Math.min(retryAfter, MAX_RETRY_AFTER_MS)
  return Math.min(FIRST_BACKOFF_MS * 2 ** (attempt - 1), MAX_BACKOFF_MS) * (0.5 + Math.random() / 2)
}

export function isMethodMissing(fault: UpstreamFault): boolean {
  const code = fault.detail.rpc?.code
  return code === -32601 || code === -32004
}

function isFinalRpcError(fault: UpstreamFault): boolean {
  return isMethodMissing(fault) || fault.detail.rpc?.code === -32602
}

/** Whether the node limits its request rate, so that the same call may succeed later. */
export function isRateLimit(fault: UpstreamFault): boolean {
  const { status, rpc } = fault.detail
  if (status === 429) return true
  if (rpc === undefined) return false
  return RATE_LIMIT_CODES.has(rpc.code) || /rate.?limit|too many requests|capacity|throttl/i.test(rpc.message)
}

export function refusesBatches(fault: UpstreamFault): boolean {
  return (fault.kind === 'batch-refused' || REFUSING_STATUS.has(fault.detail.status ?? 0)) && !isRateLimit(fault)
}
