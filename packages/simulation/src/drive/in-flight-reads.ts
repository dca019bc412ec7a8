import type { UpstreamError } from '@upfront/node'
import type { StateValue } from '../engine/state.js'

/** A value, or the error of its read. */
export type ReadOutcome = StateValue | UpstreamError

/** Reads that were sent together. */
export class InFlightReads {
  outcomes: Promise<ReadOutcome[]> = Promise.resolve([])
  /** Requests waiting for it. */
  waiting = 0

  constructor(readonly startedAt: number) {}
}

/** A read's position in its batch. */
export interface InFlightRead {
  batch: InFlightReads
  index: number
}

/** One request's reads, some of which may have been sent for other requests. */
export class MergedReads {
  readonly #batches: readonly InFlightReads[]

  constructor(
    readonly outcomes: Promise<ReadOutcome[]>,
    batches: readonly InFlightReads[],
    /** How many were already in flight. */
    readonly merged: number,
  ) {
    this.#batches = batches
    for (const batch of batches) batch.waiting += 1
  }

  /** Called when the request no longer waits. */
  leave(): void {
    for (const batch of this.#batches) batch.waiting -= 1
  }
}

/** Combines reads in flight for other requests with the request's own. */
export function mergeReads(places: readonly InFlightRead[], own: InFlightReads): MergedReads {
  const outcomes = Promise.all(places.map(async ({ batch, index }) => (await batch.outcomes)[index]!))
  const batches = new Set(places.map(({ batch }) => batch))
  return new MergedReads(outcomes, [...batches], places.filter(({ batch }) => batch !== own).length)
}
