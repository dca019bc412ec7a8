/** More chunks than this are joined: bytes that arrive one by one must not take a hundred times their size. */
const MAX_CHUNKS = 64

/** What has arrived on a connection and is not yet served. */
export class ReceivedBytes {
  #chunks: Buffer[] = []
  #length = 0

  get length(): number {
    return this.#length
  }

  add(chunk: Buffer): void {
    this.#chunks.push(chunk)
    this.#length += chunk.length
    if (this.#chunks.length > MAX_CHUNKS) this.join()
  }

  /** All of it in one piece. */
  join(): Buffer {
    if (this.#chunks.length !== 1) this.#chunks = [Buffer.concat(this.#chunks, this.#length)]
    return this.#chunks[0]!
  }

  /** Drops the first bytes; call `join` before. */
  drop(bytes: number): void {
    const rest = this.#length - bytes
    this.#chunks = rest === 0 ? [] : [this.#chunks[0]!.subarray(bytes)]
    this.#length = rest
  }
}
