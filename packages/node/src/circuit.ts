export type CircuitState = 'closed' | 'open' | 'half-open'

const FIRST_REST_MS = 2_000
const MOST_REST_MS = 60_000

/**
 * Decides whether a node is asked while there are others. A failure leaves it out (`open`) for 2 s, each further one without a success in between
 * for twice as long as before, up to a minute. After that it is tried once (`half-open`): what it says closes the circuit or opens it again.
 */
export class Circuit {
  readonly #tell: (state: CircuitState) => void
  readonly #now: () => number
  #state: CircuitState = 'closed'
  /** Failures in a row; those while it is open don't count: they were asked before. */
  #failures = 0
  #openUntil = 0

  /** @param tell called with each new state */
  constructor(tell: (state: CircuitState) => void = () => undefined, now: () => number = () => performance.now()) {
    this.#tell = tell
    this.#now = now
  }

  get state(): CircuitState {
    return this.#state
  }

  /** The node was left out for long enough and is not being tried yet. */
  get isDue(): boolean {
    return this.#state === 'open' && this.#now() >= this.#openUntil
  }

  try(): void {
    this.#become('half-open')
  }

  /** @param restMs where what went wrong tells how long it lasts */
  failed(restMs?: number): void {
    if (this.#state === 'open') return
    this.#openUntil = this.#now() + (restMs ?? Math.min(FIRST_REST_MS * 2 ** this.#failures, MOST_REST_MS))
    this.#failures += 1
    this.#become('open')
  }

  /** @param isProven the node answered a real call; otherwise it was only reachable */
  succeeded(isProven: boolean): void {
    if (isProven) this.#failures = 0
    this.#become('closed')
  }

  #become(state: CircuitState): void {
    if (state === this.#state) return
    this.#state = state
    this.#tell(state)
  }
}
