/** Number of dependent reads that led to a value; 0 if none did. */
export type Depth = number
/** One per byte. */
export type Depths = Uint16Array

export const NONE: Depths = new Uint16Array(0)
/** Access beyond it runs out of gas. */
const MAX_BYTES = 1 << 24

export function most(depths: Depths): Depth {
  let found = 0
  for (const depth of depths) if (depth > found) found = depth
  return found
}

/** A frame's memory: the depth of each byte. */
export class Memory {
  #bytes: Depths = NONE

  read(at: number, size: number): Depths {
    if (size === 0 || !this.#reaches(at + size)) return NONE
    return this.#bytes.slice(at, at + size)
  }

  fill(at: number, size: number, depth: Depth): void {
    if (size > 0 && this.#reaches(at + size)) this.#bytes.fill(depth, at, at + size)
  }

  /** If `from` is too short, the rest gets `least`, the lowest possible depth. */
  write(at: number, from: Depths, size: number, least: Depth): void {
    if (size === 0 || !this.#reaches(at + size)) return
    for (let index = 0; index < size; index += 1) this.#bytes[at + index] = Math.max(from[index] ?? 0, least)
  }

  #reaches(end: number): boolean {
    if (end > MAX_BYTES) return false
    if (end > this.#bytes.length) {
      const longer = new Uint16Array(Math.max(end, 2 * this.#bytes.length))
      longer.set(this.#bytes)
      this.#bytes = longer
    }
    return true
  }
}
