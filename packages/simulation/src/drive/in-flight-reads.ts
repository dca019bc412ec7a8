import type { UpstreamError } from '@upfront/node'
import type { StateValue } from '../engine/state.js'

/** A value, or why it could not be read. */
export type ReadOutcome = StateValue | UpstreamError

/** Reads that were sent together. */
export class InFlightReads {
  outcomes: Promise<ReadOutcome[]> = Promise.resolve([])
  /** Requests. */
  waiting = 0

  constructor(readonly startedAt: number) {}
}

/** Where among them one read is. */
export interface InFlightRead {
  batch: InFlightReads
  index: number
}

/** What one request asked for. */
export class MergedReads {
  readonly #batches: readonly InFlightReads[]

  constructor(
    readonly outcomes: Promise<ReadOutcome[]>,
    batches: readonly InFlightReads[],
    /** Reads that were under way already. */
    readonly merged: number,
  ) {
    this.#batches = batches
    for (const batch of batches) batch.waiting += 1
  }

  /** The request does not wait for it any more. */
  leave(): void {
    for (const batch of this.#batches) batch.waiting -= 1
  }
}

/** What is under way for other requests too. */
export function mergeReads(places: readonly InFlightRead[], own: InFlightReads): MergedReads {
  const outcomes = Promise.all(places.map(async ({ batch, index }) => (await batch.outcomes)[index]!))
  const batches = new Set(places.map(({ batch }) => batch))
  return new MergedReads(outcomes, [...batches], places.filter(({ batch }) => batch !== own).length)
}
