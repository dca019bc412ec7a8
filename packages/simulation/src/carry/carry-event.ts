import type { BlockHeader } from '@upfront/protocol'
import type { Difference } from '../engine/block-carrier.js'

/** For metrics and the log. */
export type CarryEvent =
  | {
      kind: 'carried'
      header: BlockHeader
      transactions: number
      written: number
      read: number
      tookMs: number
      /** Carried by its access list, without execution. */
      isListed: boolean
    }
  /** The node's access list does not match the hash in the block's header; the block is executed instead. */
  | { kind: 'listRefused'; header: BlockHeader; detail: string }
  /** Requests on this block start with an empty cache. `isFirst`: the first block skipped for this reason. */
  | { kind: 'notCarried'; header: BlockHeader; reason: NotCarried; detail: string; isFirst: boolean }
  /** Carrying slowed down because it takes too long on this chain, or sped up again. */
  | { kind: 'pace'; pace: CarryPace; reason: string }
  /** The node confirmed carried values. */
  | { kind: 'audited'; header: BlockHeader; values: number }
  /** The node contradicts carried values: all of them are dropped, and carrying stops. */
  | { kind: 'distrusted'; header: BlockHeader; detail: string }

export type NotCarried =
  | Difference
  /** The block does not follow a known head. */
  | 'orphan'
  /** The first block of a fork that changes state by itself, or a block whose rules are unknown. */
  | 'fork'
  /** An unknown transaction type, or an inconsistent block. */
  | 'undecodable'
  /** A read from the node failed. */
  | 'unreadable'
  | 'late'
  /** Earlier blocks are still being executed. */
  | 'behind'
  /** Carrying is slowed down or off. */
  | 'paused'
  | 'failed'

/** How often blocks are carried. `distrusted`: never again in this process. */
export type CarryPace = 'each' | 'everySecond' | 'off' | 'distrusted'

export interface CarryStatus {
  pace: CarryPace
  /** The newest carried block's number. */
  carried?: bigint
  /** Number of blocks so far, by result. */
  counts: Readonly<Partial<Record<'carried' | NotCarried, number>>>
}
