import type { Awaitable, CallLimits } from '@upfront/node'
import type { BlockHeader, Hash } from '@upfront/protocol'
import type { ChainChange, WithHeader } from './kept-blocks.js'
import type { Relay } from './relay.js'

/** `auto` follows while requests arrive, and for a while after. */
export const FOLLOW_MODES = ['auto', 'always', 'off'] as const
export type FollowMode = (typeof FOLLOW_MODES)[number]

export interface HeadFollowerOptions<B extends WithHeader> {
  mode: FollowMode
  /** WebSocket URLs of nodes. While none is connected, the node is polled at the chain's pace. */
  urls: readonly string[]
  /** The followed chain; undefined while it is unknown. A WebSocket URL of another chain is not subscribed to. */
  chainId: () => bigint | undefined
  /** `auto` stops following after this time without a request, milliseconds. */
  idleMs?: number
  /** Asks the node for its head and reports the answer to `HeadFollower.noteNodeHead`. */
  askHead: (limits: CallLimits) => Awaitable<unknown>
  /** Fetches a block by hash; undefined while the node does not serve it. */
  byHash: (hash: Hash, limits: CallLimits) => Promise<B | undefined>
  /** Fetches a block by number; undefined if the node does not have it yet. Without it, no block is requested before it is announced. */
  byNumber?: (number: bigint, limits: CallLimits) => Promise<B | undefined>
  /**
   * Prepares the state of a new head from that of its parent. In the meantime requests use the previous head, for at most 50 ms. May be
   * called for the next block before it resolves.
   * @param parent the parent, if it was followed
   */
  prepare?: (block: B, parent: BlockHeader | undefined) => Promise<void>
  /** Weight of a block in `KeptBlocks`. */
  weigh?: (block: B) => number
  /** Called for each new head that requests may use, in order, with all blocks that it adds. */
  onChange?: (change: ChainChange<B>) => void
  observe: (event: HeadEvent) => void
  /** Connects replicas that follow the same chain. */
  relay?: Relay | undefined
}

/** Events for metrics and logs. */
export type HeadEvent =
  | { kind: 'following' }
  | { kind: 'resting' }
  | { kind: 'head'; header: BlockHeader; reorganised: boolean; missed: number }
  /** A block was requested when it was due: `early` if the node had it, `inVain` if not. */
  | { kind: 'early'; number: bigint }
  | { kind: 'inVain'; number: bigint }
  /** A node announced a block that no node serves. */
  | { kind: 'unserved'; hash: Hash }
  | { kind: 'lost'; host: string; reason: string }
  /** The node did not return its head; it is asked again. */
  | { kind: 'unknown'; reason: string }
  /** A block's state could not be prepared, and requests use the block nevertheless; or a head could not be processed. */
  | { kind: 'failed'; reason: string }
  /** A block could not be announced to listeners; it is tried again. */
  | { kind: 'untold'; reason: string }

/** State of the follower for `/health/ready` and metrics. */
export interface HeadStatus {
  mode: FollowMode
  following: boolean
  /** How many of the WebSocket connections are subscribed. */
  subscribed: number
  urls: number
  head?: bigint
  /** Milliseconds since that head was first seen. */
  ageMs?: number
  /** Whether requests use that head without asking the node. */
  trusted: boolean
  /** Milliseconds between blocks, as learnt. */
  intervalMs: number
}
