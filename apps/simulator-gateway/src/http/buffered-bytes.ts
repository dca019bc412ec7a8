/** Counts the bytes of large bodies that are held at one time, over all connections. */
export class BufferedBytes {
  private held = 0

  constructor(private readonly limit: number) {}

  get bytes(): number {
    return this.held
  }

  /** Whether the bytes still fit; if so they are held until `give` is called with as many. */
  take(bytes: number): boolean {
    if (this.held + bytes > this.limit) return false
    this.held += bytes
    return true
  }

  give(bytes: number): void {
    this.held -= bytes
  }
}
