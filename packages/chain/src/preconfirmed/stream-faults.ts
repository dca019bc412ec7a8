import type { PreconfirmedEvent } from './flashblock-store.js'

/** What happens to a stream of flashblocks and to the chain that it is laid over. */
export type FollowerEvent =
  | PreconfirmedEvent
  | { kind: 'connected'; url: string }
  | { kind: 'lost'; url: string; reason: string; retryInMs: number }
  | { kind: 'undecodable'; reason: string }
  | { kind: 'head'; blockNumber: bigint; hash: string }
  | { kind: 'head-unknown'; reason: string }

const KINDS = ['gap', 'mismatch', 'nativePrecompile', 'differs', 'lost', 'undecodable'] as const

/** What was wrong with the stream, or with what it showed: see `FollowerEvent`. Neither URLs nor reasons, which the log has. */
export interface StreamFault {
  kind: (typeof KINDS)[number]
  block?: string
  flashblock?: number
  /** ISO 8601. */
  at: string
}

const MOST_KEPT = 20

/** The last faults of the stream, oldest first: one of a kind for each block. */
export class StreamFaults {
  #kept: StreamFault[] = []
  /** Connected in the middle of a block: what came before is not missing, it was never to come. */
  #isJoining = true

  note(event: FollowerEvent): void {
    if (event.kind === 'connected') this.#isJoining = true
    if (event.kind === 'arrival') {
      if (event.arrival === 'first' || event.arrival === 'next') this.#isJoining = false
      if (event.arrival === 'gap' && this.#isJoining) return
    }
    const name = event.kind === 'arrival' ? event.arrival : event.kind
    const kind = KINDS.find((known) => known === name)
    if (kind === undefined) return
    const block = 'blockNumber' in event ? String(event.blockNumber) : undefined
    const isKnown = this.#kept.some((fault) => block !== undefined && fault.kind === kind && fault.block === block)
    if (isKnown) return
    const fault: StreamFault = {
      kind,
      ...(block !== undefined && { block }),
      ...('index' in event && { flashblock: event.index }),
      at: new Date().toISOString(),
    }
    this.#kept = [...this.#kept, fault].slice(-MOST_KEPT)
  }

  recent(): readonly StreamFault[] {
    return this.#kept
  }
}
