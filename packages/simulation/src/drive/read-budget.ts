import { ErrorCode, RpcError } from '@upfront/protocol'

/** Limits and counts what one request reads from the node. */
export class ReadBudget {
  /** Values requested from the node so far. */
  used = 0
  /** Those of them that were guesses. */
  #guessed = 0
  /** Round trips to the node. */
  #rounds = 0
  readonly #startedAt = performance.now()
  /** Limit of needed values, and of guessed ones. */
  readonly #limit: number
  #parent: ReadBudget | undefined

  constructor(
    limit: number,
    /** Deadline for reads, by `performance.now()`. */
    readonly deadline: number,
  ) {
    this.#limit = limit
  }

  /** A budget with this fraction of the remaining values and time. Reads from it also count here. */
  part(divisor: number): ReadBudget {
    const now = performance.now()
    const left = Math.max(0, this.#limit - this.#needed)
    const part = new ReadBudget(Math.floor(left / divisor), now + (this.deadline - now) / divisor)
    part.#parent = this
    return part
  }

  get #needed(): number {
    return this.used - Math.min(this.#guessed, this.#limit)
  }

  /**
   * How many guessed values may still be read; further guesses are dropped. Beyond their own limit, guesses count as needed values and may
   * take half of what is left of those, because reading values one by one would cost a round trip each.
   */
  get guessesLeft(): number {
    return Math.max(0, this.#limit - this.#guessed, Math.floor((this.#limit - this.#needed) / 2))
  }

  /**
   * @param guessed number of guesses among the values
   * @throws RpcError -32005 over the limit
   */
  take(values: number, guessed = 0): void {
    this.#count(values, guessed)
    if (this.#parent !== undefined) this.#parent.#count(values, guessed)
    this.#rounds += 1
    if (this.#needed <= this.#limit) return
    throw new RpcError(
      ErrorCode.limitExceeded,
      `the request reads more than ${this.#limit} values of state that are not cached`,
      { limit: this.#limit },
    )
  }

  #count(values: number, guessed: number): void {
    this.used += values
    this.#guessed += guessed
  }

  /** Whether most of the time goes to the reads sent at `since` (by `performance.now()`): the node is then to blame for a timeout. */
  isNodeToBlame(since: number): boolean {
    return this.#rounds === 1 || since - this.#startedAt < this.deadline - since
  }

  /** The error of a request whose reads were each answered in time but together took too long. */
  timeoutError(): RpcError {
    const milliseconds = Math.round(this.deadline - this.#startedAt)
    return new RpcError(
      ErrorCode.limitExceeded,
      `out of time: reading ${this.used} values of state in ${this.#rounds} successive round trips took ${milliseconds} ms`,
    )
  }
}
