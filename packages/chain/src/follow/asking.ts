import type { CallLimits, CancelSignal } from '@upfront/node'

const ASK_TIMEOUT_MS = 5_000

/** How long a node is waited for that is asked while the head is followed. */
export function askLimits(signal: CancelSignal): CallLimits {
  return { signal, deadline: performance.now() + ASK_TIMEOUT_MS }
}

export function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
