import { channel } from 'node:diagnostics_channel'

/** Under this name, work is announced to `node:diagnostics_channel`. */
export const TRACED_WORK = 'upfront.work'

export interface TraceDetails {
  attributes?: Record<string, string | number | boolean>
  /** What comes later and `follows` this key belongs to the same trace: for work that no request waits for. */
  begins?: string
  follows?: string
}

/** What a subscriber of {@link TRACED_WORK} is given. It may wrap `run`, which is called afterwards. */
export interface TracedWork extends TraceDetails {
  name: string
  run: () => unknown
}

const works = channel(TRACED_WORK)

/**
 * Does `run`; where somebody subscribes, as a span of a trace. Without a subscriber it costs a call.
 * @param name of a closed set: never what a client sent
 * @returns what `run` does; a promise of it is the span's end
 */
export function traced<T>(name: string, run: () => T, details?: TraceDetails): T {
  if (!works.hasSubscribers) return run()
  const work: TracedWork = { ...details, name, run }
  works.publish(work)
  return work.run() as T
}
