export interface CircuitBreakerOptions {
  /** Consecutive failures that open the circuit. */
  threshold: number
  /** How long it stays open at first, in milliseconds. Doubles with each failed probe, up to `longest`. */
  shortest: number
  longest: number
}

/**
 * Opens after consecutive failures. While it is open, only insistent calls are tried. After a pause, one call at
 * a time is let through as a probe; the first success closes the circuit.
 */
export class CircuitBreaker {
  readonly #options: CircuitBreakerOptions
  #failures = 0
  #openFor: number
  #openUntil = 0
  #probing = false

  constructor(options: CircuitBreakerOptions) {
    this.#options = options
    this.#openFor = options.shortest
  }

  /** Milliseconds until a call may be tried; 0 if it may be tried now. The caller must report the result of an admitted call. */
  admit(now = Date.now()): number {
    if (this.#failures < this.#options.threshold) return 0
    if (now < this.#openUntil) return this.#openUntil - now
    if (this.#probing) return this.#options.shortest
    this.#probing = true
    return 0
  }

  succeeded(): void {
    this.#failures = 0
    this.#openFor = this.#options.shortest
    this.#probing = false
  }

  failed(now = Date.now()): void {
    this.#failures++
    if (this.#failures < this.#options.threshold) return
    if (this.#probing) this.#openFor = Math.min(this.#openFor * 2, this.#options.longest)
    this.#probing = false
    this.#openUntil = now + this.#openFor
  }
}
