import { type CallLimits, type CancelSignal, pause } from '@upfront/node'
import type { CanonicalBlock } from './canonical-block.js'

export interface FollowHeadOptions {
  latest: (limits: CallLimits) => Promise<CanonicalBlock>
  pollMs: number
  /** Bound on one question. */
  timeoutMs: number
  onHead: (head: CanonicalBlock) => void
  /** The node could not be asked; it is asked again. */
  onError: (error: Error) => void
}

/** Asks the node for its head again and again, never twice at once. Ends when `signal` aborts. */
export async function followHead(options: FollowHeadOptions, signal: CancelSignal): Promise<void> {
  let known: string | undefined
  while (!signal.aborted) {
    const limits = { signal, deadline: performance.now() + options.timeoutMs }
    const head = await options.latest(limits).catch((error: Error) => error)
    if (signal.aborted) return
    if (head instanceof Error) options.onError(head)
    else if (head.header.hash !== known) {
      known = head.header.hash
      options.onHead(head)
    }
    await pause(options.pollMs, signal).catch(() => undefined)
  }
}
