import type { StateValue } from '../engine/state.js'

/** Reads sent in one go. */
export class Flight {
  values: Promise<StateValue[]> = Promise.resolve([])
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
    readonly values: Promise<StateValue[]>,
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
  const values = Promise.all(places.map(async ({ flight, index }) => (await flight.values)[index]!))
  const flights = new Set(places.map(({ flight }) => flight))
  return new Asked(values, [...flights], places.filter(({ flight }) => flight !== own).length)
}
