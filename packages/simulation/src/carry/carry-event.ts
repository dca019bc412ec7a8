import type { BlockHeader } from '@upfront/protocol'
import type { Difference } from '../engine/block-carrier.js'

/** What the metrics count and the log says. */
export type CarryEvent =
  | {
      kind: 'carried'
      header: BlockHeader
      transactions: number
      written: number
      read: number
      tookMs: number
      /** By its access list, without executing it. */
      isListed: boolean
    }
  /** The node's access list of a block is not the one that its header promises: the block is executed. */
  | { kind: 'listRefused'; header: BlockHeader; detail: string }
  /** Requests on this block begin with nothing. `isFirst`: no block was left for this reason before. */
  | { kind: 'notCarried'; header: BlockHeader; reason: NotCarried; detail: string; isFirst: boolean }
  /** Carrying takes too long for this chain, or is quick enough again. */
  | { kind: 'pace'; pace: CarryPace; reason: string }
  /** The node confirmed values that were carried. */
  | { kind: 'audited'; header: BlockHeader; values: number }
  /** The node contradicts what was carried: all of it is dropped, and carrying ends. */
  | { kind: 'distrusted'; header: BlockHeader; detail: string }

export type NotCarried =
  | Difference
  /** The block does not follow a head that is known. */
  | 'orphan'
  /** It is the first block of a fork that changes state by itself, or its rules are not known here. */
  | 'fork'
  /** A transaction of a type that is not known here, or a block that makes no sense. */
  | 'undecodable'
  /** The node could not be read. */
  | 'unreadable'
  | 'late'
  /** Blocks before it are still being executed. */
  | 'behind'
  /** Carrying stepped down. */
  | 'paused'
  | 'failed'

/** Which blocks are carried. `distrusted`: never again in this process. */
export type CarryPace = 'each' | 'everySecond' | 'off' | 'distrusted'

export interface CarryStatus {
  pace: CarryPace
  /** The newest block that was carried. */
  carried?: bigint
  /** Blocks so far, by what became of them. */
  counts: Readonly<Partial<Record<'carried' | NotCarried, number>>>
}
