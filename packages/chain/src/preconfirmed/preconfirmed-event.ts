import type { Arrival } from './flashblock-store.js'

/** What the metrics count and the log says. */
export type PreconfirmedEvent =
  | { kind: 'arrival'; arrival: Arrival; blockNumber: bigint; index: number }
  /** A flashblock shows in `pending`. */
  | { kind: 'visible'; blockNumber: bigint; index: number; transactions: number; gasUsed: bigint; afterMs: number }
  /** The node's head is the block that was pre-confirmed: its layers are part of the head now. */
  | { kind: 'folded'; blockNumber: bigint }
  /** The node's head is another block than was pre-confirmed at its height. */
  | { kind: 'differs'; blockNumber: bigint }
  /** The node's head is no child of the one before. */
  | { kind: 'reorganised'; blockNumber: bigint }
  /** Executing gave something else than the flashblock claims, or the block's rules refuse a transaction. */
  | { kind: 'mismatch'; blockNumber: bigint; index: number; reason: string }
  /** A transaction reaches code that the chain's nodes have of their own (Base's B20), which is not executed here. */
  | { kind: 'nativePrecompile'; blockNumber: bigint; index: number; reason: string }
  /** The node could not be read; tried again. */
  | { kind: 'unreadable'; blockNumber: bigint; reason: string }
  /** Following failed unexpectedly; the next flashblock or head starts from the canonical head again. */
  | { kind: 'failed'; reason: string }
  /** `pending` stands on the canonical head from now on. */
  | { kind: 'fallback' }
