import { ErrorCode, type Hash, type Hex, RpcError } from '@upfront/protocol'
import { type BlockLog, hasNoLogs } from '../blocks/block-contents.js'
import type { FollowedBlock } from '../blocks/followed-block.js'

export interface AnnouncedBlock {
  hash: Hash
  parentHash: Hash
  number: bigint
  logsBloom: Hex
  /** The header as JSON, as geth sends it to `newHeads` subscribers. */
  header: string
  /** Empty if no listener wanted logs when the block was announced. */
  logs: readonly BlockLog[]
  /** Whether `logs` holds all logs of the block. */
  hasLogs: boolean
}

/** A block that joined the chain or was removed by a reorganisation. */
export interface BlockChange {
  kind: 'added' | 'removed'
  block: AnnouncedBlock
}

/** The last change that a listener knows. */
export interface KnownChange {
  kind: 'added' | 'removed'
  number: bigint
  hash: Hash
}

export interface BlockListener {
  wantsLogs?: boolean
  /** The messages for this change as JSON. `notify` is then called with some of them at a time, over several turns of the event loop. */
  texts?(change: BlockChange): readonly string[]
  notify?(...texts: string[]): void
  /** Called when blocks can't be reported one by one. The listener receives nothing more. */
  ended?(reason: string): void
  /** Called first when a listener resumes, with the change that it named and all later ones. */
  resumed?(changes: readonly BlockChange[]): void
  /** Called for each new block, in chain order. */
  added?(block: AnnouncedBlock): void
  /** Called for each block that a reorganisation removes, newest first. */
  removed?(block: AnnouncedBlock): void
}

/** Fields of an RPC block that are not part of its header (`types.Header` of go-ethereum). */
const NOT_IN_HEADER = ['transactions', 'uncles', 'withdrawals', 'size', 'totalDifficulty', 'calls']

export function announcedBlock({
  rpc,
  header: { hash, parentHash, number, logsBloom },
}: FollowedBlock): AnnouncedBlock {
  const header = { ...rpc }
  for (const name of NOT_IN_HEADER) delete header[name]
  return {
    hash,
    parentHash,
    number,
    logsBloom,
    header: JSON.stringify(header),
    logs: [],
    hasLogs: hasNoLogs(logsBloom),
  }
}

/** The error for a change that a listener can't resume from. @param oldest number of the oldest block kept */
export function unknownPosition({ number, hash }: KnownChange, oldest: bigint): RpcError {
  const why = number < oldest ? `older than the oldest block kept, ${oldest}` : 'not on a branch that this server knows'
  return new RpcError(
    ErrorCode.resourceNotFound,
    `resume: block ${number} (${hash}) is ${why}: subscribe without it, and use eth_getLogs for the blocks since then`,
  )
}
