const NOTHING = Buffer.alloc(0)
const SMALLEST_BUFFER = 1_024
/** Copying more takes milliseconds: what is known to come gets its room once a quarter of it is here. */
const LONG_COPY = 1_048_576

/**
 * Bytes that arrive piece by piece. The first piece is kept as it came, which is all there is of most bodies; with the next, all are
 * copied into one buffer that doubles: pieces of a byte would take a hundred times their size each, and joining them again and again
 * the square of their number.
 */
export class ReceivedBytes {
  #buffer: Buffer = NOTHING
  #length = 0
  /** Bytes that will arrive, where that is known: no buffer is made longer for them. */
  most = Number.POSITIVE_INFINITY

  get length(): number {
    return this.#length
  }

  /** Bytes of memory that they take. */
  get held(): number {
    return this.#buffer.length
  }

  add(piece: Buffer): void {
    const length = this.#length + piece.length
    if (this.#length === 0) {
      this.#buffer = piece
    } else {
      if (length > this.#buffer.length) this.#grow(length)
      piece.copy(this.#buffer, this.#length)
    }
    this.#length = length
  }

  /** All of it in one piece, good until the next `add`. */
  join(): Buffer {
    return this.#buffer.length === this.#length ? this.#buffer : this.#buffer.subarray(0, this.#length)
  }

  /** Drops the first bytes. */
  drop(bytes: number): void {
    this.#length -= bytes
    this.#buffer = this.#length === 0 ? NOTHING : this.#buffer.subarray(bytes)
  }

  #grow(length: number): void {
    const isLastTime = length > LONG_COPY && 4 * length >= this.most
    const wanted = isLastTime ? this.most : Math.max(2 * this.#buffer.length, SMALLEST_BUFFER)
    const grown = Buffer.allocUnsafeSlow(Math.max(Math.min(wanted, this.most), length))
    this.#buffer.copy(grown, 0, 0, this.#length)
    this.#buffer = grown
  }
}
