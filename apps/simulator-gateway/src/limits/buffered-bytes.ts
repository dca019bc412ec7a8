import { Overloaded } from './overloaded.js'

/** Smaller bodies and answers are bounded by the number of requests alone. */
export const SMALL_BYTES = 65_536

/** Counts the bytes of large bodies and answers that are held at one time, over all connections. */
export class BufferedBytes {
  private held = 0

  constructor(private readonly limit: number) {}

  get bytes(): number {
    return this.held
  }

  /** @throws Overloaded where the bytes don't fit; else they are held until `give` is called with as many */
  take(bytes: number): void {
    if (this.held + bytes > this.limit) throw new Overloaded('too many large requests at once')
    this.held += bytes
  }

  give(bytes: number): void {
    this.held -= bytes
  }

  /** Holds an answer, where it is large. @returns what gives it back, once it is sent or its client has gone @throws Overloaded */
  hold(bytes: number): (() => void) | undefined {
    if (bytes <= SMALL_BYTES) return undefined
    this.take(bytes)
    return () => this.give(bytes)
  }
}
