import { ErrorCode, RpcError } from '@upfront/protocol'

/** How much one request may read from the node, and how much it did. */
export class ReadBudget {
  /** Values asked of the node so far. */
  used = 0
  /** Those of them that were only guessed to be needed. */
  #guessed = 0
  /** How often it had to wait for the node. */
  #rounds = 0
  readonly #startedAt = performance.now()
  /** Values at most that are needed, and as many that are guessed. */
  readonly #limit: number
  #whole: ReadBudget | undefined

  constructor(
    limit: number,
    /** `performance.now()` at which reading ends, whatever the node does. */
    readonly deadline: number,
  ) {
    this.#limit = limit
  }

  /** One that has such a part of what is left of values and time; what is taken of it is taken of this one. */
  part(divisor: number): ReadBudget {
    const now = performance.now()
    const left = Math.max(0, this.#limit - this.#needed)
    const part = new ReadBudget(Math.floor(left / divisor), now + (this.deadline - now) / divisor)
    part.#whole = this
    return part
  }

  get #needed(): number {
    return this.used - Math.min(this.#guessed, this.#limit)
  }

  /**
   * So many guessed values may still be asked for: where there are more, they are left out, for a guess is only a help. Beyond their own limit
   * they count as needed, and take at most half of what is left for those: one value at a time would be a trip for each.
   */
  get guessesLeft(): number {
    return Math.max(0, this.#limit - this.#guessed, Math.floor((this.#limit - this.#needed) / 2))
  }

  /**
   * @param guessed so many of the values
   * @throws RpcError -32005 where that is too much
   */
  take(values: number, guessed = 0): void {
    this.#count(values, guessed)
    if (this.#whole !== undefined) this.#whole.#count(values, guessed)
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

  /** Whether most of the time went to what was asked of the node at `since`, by `performance.now()`: then the node is to blame. */
  isSpentOn(since: number): boolean {
    return this.#rounds === 1 || since - this.#startedAt < this.deadline - since
  }

  /** What to tell of a request whose reads, each answered in time, took all of its time together. */
  outOfTime(): RpcError {
    const milliseconds = Math.round(this.deadline - this.#startedAt)
    return new RpcError(
      ErrorCode.limitExceeded,
      `out of time: ${milliseconds} ms went by while ${this.used} values of state were read, ${this.#rounds} times one after another`,
    )
  }
}
