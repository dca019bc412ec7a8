import type { UpstreamError } from '@upfront/node'
import type { StateValue } from '../engine/state.js'

/** A value, or why it could not be read. */
export type ReadOutcome = StateValue | UpstreamError

/** Reads sent in one go. */
export class Flight {
  outcomes: Promise<ReadOutcome[]> = Promise.resolve([])
  /** Requests. */
  waiting = 0

  constructor(readonly startedAt: number) {}
}

/** Where a read's value will be. */
export interface Place {
  flight: Flight
  index: number
}

/** What one request asked for. */
export class Asked {
  readonly #flights: readonly Flight[]

  constructor(
    readonly outcomes: Promise<ReadOutcome[]>,
    flights: readonly Flight[],
    /** Reads that were under way already. */
    readonly joined: number,
  ) {
    this.#flights = flights
    for (const flight of flights) flight.waiting += 1
  }

  /** The request does not wait for it any more. */
  leave(): void {
    for (const flight of this.#flights) flight.waiting -= 1
  }
}

/** What is in other requests' flights too. */
export function joined(places: readonly Place[], own: Flight): Asked {
  const outcomes = Promise.all(places.map(async ({ flight, index }) => (await flight.outcomes)[index]!))
  const flights = new Set(places.map(({ flight }) => flight))
  return new Asked(outcomes, [...flights], places.filter(({ flight }) => flight !== own).length)
}
