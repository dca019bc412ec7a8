const NOTHING = Buffer.alloc(0)
const MIN_BUFFER = 1_024
/** Copying more takes milliseconds: a buffer that long gets its final size at once, if a quarter of the bytes has arrived. */
const LONG_COPY = 1_048_576

/**
 * Bytes that arrive in pieces. The first piece is kept without copying: most bodies have no other. Later pieces are copied into a buffer
 * that doubles: one-byte pieces would take a hundred times their size if kept, and quadratic time if joined each time.
 */
export class ReceivedBytes {
  #buffer: Buffer = NOTHING
  #length = 0
  /** Total bytes expected, if known: the buffer never grows beyond them. */
  most = Number.POSITIVE_INFINITY

  get length(): number {
    return this.#length
  }

  /** Bytes of memory allocated. */
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

  /** All bytes in one buffer, valid until the next `add`. */
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
    const wanted = isLastTime ? this.most : Math.max(2 * this.#buffer.length, MIN_BUFFER)
    const grown = Buffer.allocUnsafeSlow(Math.max(Math.min(wanted, this.most), length))
    this.#buffer.copy(grown, 0, 0, this.#length)
    this.#buffer = grown
  }
}
