import type { StateValue } from '@upfront/simulation'

/** Reads sent in one go. */
export class Flight {
  readonly startedAt: number
  values: Promise<StateValue[]> = Promise.resolve([])
  /** Requests. */
  waiting = 0

  constructor(startedAt: number) {
    this.startedAt = startedAt
  }
}

/** Where a read's value will be. */
export interface Place {
  flight: Flight
  index: number
}

/** What one request asked for. */
export class Asked {
  readonly values: Promise<StateValue[]>
  readonly #flights: readonly Flight[]

  constructor(values: Promise<StateValue[]>, flights: readonly Flight[]) {
    this.values = values
    this.#flights = flights
    for (const flight of flights) flight.waiting += 1
  }

  /** The request does not wait for it any more. */
  leave(): void {
    for (const flight of this.#flights) flight.waiting -= 1
  }
}

/** What may be in other requests' flights too. */
export function joined(places: readonly Place[]): Asked {
  const values = Promise.all(places.map(async ({ flight, index }) => (await flight.values)[index]!))
  return new Asked(values, [...new Set(places.map(({ flight }) => flight))])
}
