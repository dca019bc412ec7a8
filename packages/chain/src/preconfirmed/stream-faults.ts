import type { PreconfirmedEvent } from './flashblock-store.js'

/** Events of a Flashblocks stream and of the pre-confirmed chain. */
export type FollowerEvent =
  | PreconfirmedEvent
  | { kind: 'connected'; url: string }
  | { kind: 'lost'; url: string; reason: string; retryInMs: number }
  | { kind: 'undecodable'; reason: string }
  | { kind: 'head'; blockNumber: bigint; hash: string }
  | { kind: 'head-unknown'; reason: string }

const KINDS = ['gap', 'mismatch', 'nativePrecompile', 'differs', 'lost', 'undecodable'] as const

/** A fault of the stream or of its contents: see `FollowerEvent`. Contains neither URLs nor reasons; the log has them. */
export interface StreamFault {
  kind: (typeof KINDS)[number]
  block?: string
  flashblock?: number
  /** ISO 8601 time. */
  at: string
}

const MAX_KEPT = 20

/** The most recent faults, oldest first; at most one of a kind per block. */
export class StreamFaults {
  #kept: StreamFault[] = []
  /** Whether we just connected, possibly in the middle of a block. Its earlier flashblocks are not missing: they are never sent again. */
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
    this.#kept = [...this.#kept, fault].slice(-MAX_KEPT)
  }

  recent(): readonly StreamFault[] {
    return this.#kept
  }
}
