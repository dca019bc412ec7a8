export interface CircuitBreakerOptions {
  /** Failures in a row that open the circuit. */
  threshold: number
  /** How long it stays open at first; doubles with each failed probe, up to `longest`. Milliseconds. */
  shortest: number
  longest: number
}

/**
 * Opens after some failures in a row; while open, nothing that can wait is tried. After a while one call at a time is
 * let through as a probe; the first success closes it.
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

  /** Milliseconds until a call is worth trying; 0 where it is now. A call that is let through has to report its end. */
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
