export type CircuitState = 'closed' | 'open' | 'half-open'

const FIRST_REST_MS = 2_000
const MAX_REST_MS = 60_000

/**
 * Circuit breaker of one node among several. After a failure the node is not used (`open`) for 2 s. Each further failure without a success
 * doubles that, up to a minute. Then it is tried once (`half-open`), which closes the circuit or opens it again.
 */
export class Circuit {
  readonly #onState: (state: CircuitState) => void
  readonly #now: () => number
  #state: CircuitState = 'closed'
  /** Failures in a row. Failures while open don't count: those calls were sent before. */
  #failures = 0
  #openUntil = 0

  /** @param onState called with each new state */
  constructor(onState: (state: CircuitState) => void = () => undefined, now: () => number = () => performance.now()) {
    this.#onState = onState
    this.#now = now
  }

  get state(): CircuitState {
    return this.#state
  }

  /** Whether the pause is over and the node is not being tried yet. */
  get isDue(): boolean {
    return this.#state === 'open' && this.#now() >= this.#openUntil
  }

  halfOpen(): void {
    this.#setState('half-open')
  }

  /** @param restMs how long to leave the node out, if the failure tells */
  failed(restMs?: number): void {
    if (this.#state === 'open') return
    this.#openUntil = this.#now() + (restMs ?? Math.min(FIRST_REST_MS * 2 ** this.#failures, MAX_REST_MS))
    this.#failures += 1
    this.#setState('open')
  }

  /** @param isProven whether the node answered a real call rather than only a probe */
  succeeded(isProven: boolean): void {
    if (isProven) this.#failures = 0
    this.#setState('closed')
  }

  #setState(state: CircuitState): void {
    if (state === this.#state) return
    this.#state = state
    this.#onState(state)
  }
}
