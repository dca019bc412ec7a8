import { ErrorCode, type Hash, type Hex, RpcError } from '@upfront/protocol'
import { type BlockLog, hasNoLogs } from '../blocks/block-contents.js'
import type { FollowedBlock } from '../blocks/followed-block.js'

export interface AnnouncedBlock {
  hash: Hash
  parentHash: Hash
  number: bigint
  logsBloom: Hex
  /** As geth announces it: JSON. */
  header: string
  /** Empty where nobody wanted logs when it was announced. */
  logs: readonly BlockLog[]
  /** Whether `logs` is what the node has. */
  hasLogs: boolean
}

/** A block that joined the chain, or that a reorganisation took back. */
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
  /** What the listener is told of a change, as JSON: `notify` is called with a part of it at a time, in turns of the event loop. */
  texts?(change: BlockChange): readonly string[]
  notify?(...texts: string[]): void
  /** Called where blocks came that can't be told: nothing is told any more. */
  ended?(reason: string): void
  /** Called first where the listener resumes: with the change that it named, and all that followed. */
  resumed?(changes: readonly BlockChange[]): void
  /** Called with each block in the order of the chain. */
  added?(block: AnnouncedBlock): void
  /** Called with each block that a reorganisation takes back, the newest first. */
  removed?(block: AnnouncedBlock): void
}

/** What of a block is not in its header (`types.Header` of go-ethereum). */
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

/** A listener can't go on after the change. @param oldest number of a block that is kept */
export function unknownPosition({ number, hash }: KnownChange, oldest: bigint): RpcError {
  const why =
    number < oldest ? `older than what is kept, from block ${oldest} on` : 'of a branch that is not known here'
  return new RpcError(
    ErrorCode.resourceNotFound,
    `resume: block ${number} (${hash}) is ${why}: subscribe without it, and ask eth_getLogs for what came since`,
  )
}
