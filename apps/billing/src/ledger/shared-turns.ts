interface Waiting<Input, Output> {
  input: Input
  resolve: (output: Output) => void
  reject: (error: unknown) => void
}

/**
 * Runs calls with the same key one turn at a time. Calls that arrive during a turn share the next one, and its database transaction. If a
 * shared turn fails, each of its calls is run again alone, so no call fails because of another.
 */
export class SharedTurns<Input, Output> {
  readonly #waiting = new Map<string, Waiting<Input, Output>[]>()
  readonly #busy = new Set<string>()
  readonly #most: number
  readonly #run: (inputs: readonly Input[]) => Promise<readonly Output[]>

  /** @param most calls per turn; `run` returns results in their order */
  constructor(most: number, run: (inputs: readonly Input[]) => Promise<readonly Output[]>) {
    this.#most = most
    this.#run = run
  }

  call(key: string, input: Input): Promise<Output> {
    return new Promise((resolve, reject) => {
      const waiting = this.#waiting.get(key) ?? []
      waiting.push({ input, resolve, reject })
      this.#waiting.set(key, waiting)
      if (!this.#busy.has(key)) void this.#drain(key)
    })
  }

  async #drain(key: string): Promise<void> {
    this.#busy.add(key)
    for (let waiting = this.#waiting.get(key); waiting !== undefined; waiting = this.#waiting.get(key)) {
      const some = waiting.splice(0, this.#most)
      if (waiting.length === 0) this.#waiting.delete(key)
      await this.#turn(some)
    }
    this.#busy.delete(key)
  }

  async #turn(some: readonly Waiting<Input, Output>[]): Promise<void> {
    try {
      const outputs = await this.#run(some.map(({ input }) => input))
      for (const [index, { resolve }] of some.entries()) resolve(outputs[index] as Output)
    } catch (error) {
      if (some.length === 1) for (const { reject } of some) reject(error)
      else await Promise.all(some.map((one) => this.#turn([one])))
    }
  }
}
