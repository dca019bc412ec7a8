/** What waits for its turn, each once, the one that expires first in front. */
export class DeadlineQueue<T extends { deadline: bigint }> {
  readonly #waiting: T[] = []

  get size(): number {
    return this.#waiting.length
  }

  add(item: T): void {
    if (this.#waiting.includes(item)) return
    const behind = this.#waiting.findIndex(({ deadline }) => deadline > item.deadline)
    this.#waiting.splice(behind === -1 ? this.#waiting.length : behind, 0, item)
  }

  take(): T | undefined {
    return this.#waiting.shift()
  }

  clear(): void {
    this.#waiting.length = 0
  }
}
