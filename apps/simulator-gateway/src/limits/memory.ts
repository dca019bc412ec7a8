import type { MemoryShare } from '@upfront/fast-http'
import { Overloaded } from './refused.js'
import { Tally } from './tally.js'

/** Smaller bodies and answers are bounded by the number of connections alone. */
export const SMALL_BYTES = 65_536

/** What the process takes beside requests: code, V8's young generation, the engine's state, garbage not yet collected. */
const BASE_BYTES = 384 * 1024 * 1024

/** Of a large body while it is worked on: its text, values and plan, and garbage. */
const WORKING_COPIES = 24

/** Of what is recorded of calls until it is an answer: what the engine found, its text, values, and garbage. */
const RECORD_COPIES = 8

/** What the limit of the whole process leaves for requests, in bytes. */
export function memoryShares(limit: number): {
  /** What `Memory` counts. */
  held: number
  /** Work on large bodies. */
  work: number
  /** The EVM's memory in simulations, and once more work on long records. */
  simulations: number
} {
  const quarter = Math.floor(Math.max(limit - BASE_BYTES, (limit * 3) / 8) / 4)
  return { held: 2 * quarter, work: quarter, simulations: quarter }
}

/** Parsing and checking a longer body takes milliseconds of the event loop. */
export function isLarge(bodyLength: number): boolean {
  return bodyLength > SMALL_BYTES
}

/** What work on a large body takes, beside the body itself. */
export function workingBytes(bodyLength: number): number {
  return WORKING_COPIES * bodyLength
}

/** What work on a record of at most so many bytes takes. */
export function recordingBytes(answerBytes: number): number {
  return RECORD_COPIES * answerBytes
}

const FOR_BODIES = 7 / 8

/** One account of what requests hold in memory: connections, bodies from their first byte, large answers. */
export class Memory {
  /** Bytes that requests may hold together. */
  readonly capacity: number
  #held = 0
  readonly #bodies = new Tally()

  /** @param limit of the whole process, in bytes */
  constructor(readonly limit: number) {
    this.capacity = memoryShares(limit).held
  }

  get bytes(): number {
    return this.#held
  }

  /** Counts the bytes until `give` is called with as many. @throws Overloaded where they don't fit */
  take(bytes: number): void {
    if (this.#held + bytes > this.capacity) throw new Overloaded('too little memory is free for a large request')
    this.#held += bytes
  }

  give(bytes: number): void {
    this.#held -= bytes
  }

  /**
   * What a client's bodies may take: as much as stays free beside them, so that one client never takes all. All bodies together leave
   * an eighth for connections: otherwise no request could even be refused.
   * @param client as `clientOf` names it
   */
  bodiesOf(client: string): MemoryShare {
    return {
      take: (bytes) => {
        if (this.#bodies.of(client) + bytes > this.capacity * FOR_BODIES - this.#held - bytes)
          throw new Overloaded('too little memory is free for the body')
        this.take(bytes)
        this.#bodies.add(client, bytes)
      },
      give: (bytes) => {
        this.give(bytes)
        this.#bodies.add(client, -bytes)
      },
    }
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
