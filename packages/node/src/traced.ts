import { channel } from 'node:diagnostics_channel'

/** Name of the `node:diagnostics_channel` that announces work. */
export const TRACED_WORK = 'upfront.work'

export interface TraceDetails {
  attributes?: Record<string, string | number | boolean>
  /** Later work that `follows` this key joins the same trace, for work that no request waits for. */
  begins?: string
  follows?: string
}

/** Message for subscribers of {@link TRACED_WORK}. They may wrap `run`, which is called afterwards. */
export interface TracedWork extends TraceDetails {
  name: string
  run: () => unknown
}

const works = channel(TRACED_WORK)

/**
 * Runs `run`, as a span of a trace if there is a subscriber. Without one it only costs a call.
 * @param name from a closed set, never client input
 * @returns the result of `run`; if it is a promise, the span ends with it
 */
export function traced<T>(name: string, run: () => T, details?: TraceDetails): T {
  if (!works.hasSubscribers) return run()
  const work: TracedWork = { ...details, name, run }
  works.publish(work)
  return work.run() as T
}
