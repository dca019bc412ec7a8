/** A head or a flashblock as announced. */
export interface Announced {
  number: bigint
  hash: string
  parentHash: string
  /** Undefined for a head. */
  flashblock?: number
  payloadId?: string
}

/** What went wrong between two announcements. */
export interface Disturbance {
  kind: 'gap' | 'reorganisation' | 'restart' | 'not verified' | 'lost'
  text: string
}

/** Finds gaps, restarts and reorganisations in a sequence of announcements. */
export class TimeLine {
  #head: Announced | undefined
  #flashblock: Announced | undefined

  /** @returns the disturbance that the announcement reveals; undefined if it follows the previous one */
  note(announced: Announced): Disturbance | undefined {
    return announced.flashblock === undefined ? this.#noteHead(announced) : this.#noteFlashblock(announced)
  }

  /** Call it when the connection is lost: later announcements may not follow the last one. */
  interrupt(): void {
    this.#head = undefined
    this.#flashblock = undefined
  }

  #noteHead(head: Announced): Disturbance | undefined {
    const before = this.#head
    this.#head = head
    if (before === undefined || head.parentHash === before.hash) return undefined
    if (head.number <= before.number)
      return { kind: 'reorganisation', text: `the chain changed from block ${head.number} on` }
    const missing = head.number - before.number - 1n
    if (missing > 0n) return { kind: 'gap', text: `${missing} blocks before ${head.number} were not announced` }
    return { kind: 'reorganisation', text: `block ${head.number} does not follow the block before it` }
  }

  #noteFlashblock(flashblock: Announced): Disturbance | undefined {
    const before = this.#flashblock
    this.#flashblock = flashblock
    if (before === undefined) return undefined
    const place = `flashblock ${flashblock.flashblock} of block ${flashblock.number}`
    if (flashblock.number > before.number + 1n)
      return {
        kind: 'gap',
        text: `${flashblock.number - before.number - 1n} blocks before ${place} showed no flashblock`,
      }
    if (flashblock.number < before.number) return { kind: 'reorganisation', text: `${place} is on another head` }
    if (flashblock.number > before.number) return undefined
    if (flashblock.payloadId !== before.payloadId)
      return { kind: 'restart', text: `block ${flashblock.number} was started again` }
    const missing = flashblock.flashblock! - before.flashblock! - 1
    if (missing < 0) return { kind: 'restart', text: `${place} was executed again` }
    return missing > 0
      ? { kind: 'gap', text: `${missing} flashblocks before ${place} were executed with it` }
      : undefined
  }
}
