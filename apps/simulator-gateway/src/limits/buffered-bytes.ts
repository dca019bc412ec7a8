import { Overloaded } from './overloaded.js'

/** Smaller answers are bounded by the number of connections alone. */
export const SMALL_BYTES = 65_536

/** Counts the bytes of bodies and large answers that are in memory at one time, over all connections. */
export class BufferedBytes {
  private held = 0

  constructor(private readonly limit: number) {}

  get bytes(): number {
    return this.held
  }

  /** Counts the bytes until `give` is called with as many. @throws Overloaded where they don't fit */
  take(bytes: number): void {
    if (this.held + bytes > this.limit) throw new Overloaded('too many large requests at once')
    this.held += bytes
  }

  give(bytes: number): void {
    this.held -= bytes
  }

  /**
   * Counts an answer, if it is large.
   * @returns what to call once it is sent or its client has gone
   * @throws Overloaded
   */
  hold(bytes: number): (() => void) | undefined {
    if (bytes <= SMALL_BYTES) return undefined
    this.take(bytes)
    return () => this.give(bytes)
  }
}
