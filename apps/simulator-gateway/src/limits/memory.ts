import type { MemoryShare } from '@upfront/fast-http'
import { Overloaded } from './refused.js'
import { Tally } from './tally.js'

/** Smaller bodies and answers are not counted: the number of connections bounds them. */
export const SMALL_BYTES = 65_536

/** Memory of the process apart from requests: code, V8's young generation, the engine's state, garbage. */
const BASE_BYTES = 384 * 1024 * 1024

/** Memory for work on a large body, as a multiple of its length: text, values, plan, garbage. */
const WORKING_COPIES = 24

/** Memory for recorded calls until they are an answer, as a multiple of its length: the engine's records, text, values, garbage. */
const RECORD_COPIES = 8

/** Divides the process's memory limit, in bytes. */
export function memoryShares(limit: number): {
  /** For what `Memory` counts. */
  held: number
  /** For work on large bodies. */
  work: number
  /** For the EVM's memory in simulations; as much again for work on long records. */
  simulations: number
} {
  const quarter = Math.floor(Math.max(limit - BASE_BYTES, (limit * 3) / 8) / 4)
  return { held: 2 * quarter, work: quarter, simulations: quarter }
}

/** Parsing and checking a larger body takes milliseconds of the event loop. */
export function isLarge(bodyLength: number): boolean {
  return bodyLength > SMALL_BYTES
}

/** Memory for work on a large body, without the body itself. */
export function workingBytes(bodyLength: number): number {
  return WORKING_COPIES * bodyLength
}

/** Memory for work on records of at most `answerBytes`. */
export function recordingBytes(answerBytes: number): number {
  return RECORD_COPIES * answerBytes
}

const FOR_BODIES = 7 / 8

/** Accounts for the memory that requests hold: connections, bodies from their first byte, large answers. */
export class Memory {
  /** Bytes that all requests together may hold. */
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

  /** Counts the bytes until `give` is called with the same number. @throws Overloaded if they don't fit */
  take(bytes: number): void {
    if (this.#held + bytes > this.capacity)
      throw new Overloaded('not enough free memory for a large request; try again later')
    this.#held += bytes
  }

  give(bytes: number): void {
    this.#held -= bytes
  }

  /**
   * Account of a client's bodies: they may take as much as stays free next to them, so one client never takes everything. All bodies
   * together leave an eighth for connections: otherwise requests could not even be refused.
   * @param client as returned by `clientOf`
   */
  bodiesOf(client: string): MemoryShare {
    return {
      take: (bytes) => {
        if (this.#bodies.of(client) + bytes > this.capacity * FOR_BODIES - this.#held - bytes)
          throw new Overloaded('not enough free memory for the body; try again later')
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
   * Counts an answer if it is large.
   * @returns a function to call once it is sent or its client has gone
   * @throws Overloaded
   */
  hold(bytes: number): (() => void) | undefined {
    if (bytes <= SMALL_BYTES) return undefined
    this.take(bytes)
    return () => this.give(bytes)
  }
}
