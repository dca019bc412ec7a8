import type { Awaitable, CallLimits } from '@upfront/node'
import type { BlockHeader, Hash } from '@upfront/protocol'
import type { ChainChange, WithHeader } from './kept-blocks.js'
import type { Relay } from './relay.js'

/** `auto` follows while somebody asks, and for a while after. */
export const FOLLOW_MODES = ['auto', 'always', 'off'] as const
export type FollowMode = (typeof FOLLOW_MODES)[number]

export interface HeadFollowerOptions<B extends WithHeader> {
  mode: FollowMode
  /** WebSocket URLs of nodes; without one, or while none is connected, the node is asked at the chain's pace. */
  urls: readonly string[]
  /** Without a request for so long, `auto` stops following, milliseconds. */
  idleMs?: number
  /** Asks the node for its head, which `HeadFollower.noteAsked` is told of. */
  askHead: (limits: CallLimits) => Awaitable<unknown>
  /** The block with this hash; undefined while the node does not serve it. */
  byHash: (hash: Hash, limits: CallLimits) => Promise<B | undefined>
  /** The block with this number; undefined where the node does not have it yet. Where absent, no block is asked for before it is announced. */
  byNumber?: (number: bigint, limits: CallLimits) => Promise<B | undefined>
  /**
   * Prepares the state of a new head on that of its parent. Requests stand on the head before meanwhile, for at most 50 ms; the
   * next block may come before this one is done.
   * @param parent followed before; undefined where no block within reach was
   */
  prepare?: (block: B, parent: BlockHeader | undefined) => Promise<void>
  /** What a block takes of the memory for kept blocks: see `KeptBlocks`. */
  weigh?: (block: B) => number
  /** Called with each head that requests may stand on, in the order in which they may, and all blocks that it brings. */
  taken?: (change: ChainChange<B>) => void
  observe: (event: HeadEvent) => void
  /** Replicas that follow the same chain. */
  relay?: Relay | undefined
}

/** What the metrics count and the log says. */
export type HeadEvent =
  | { kind: 'following' }
  | { kind: 'resting' }
  | { kind: 'head'; header: BlockHeader; reorganised: boolean; missed: number }
  /** A block was asked for when it was due, and was there or not. */
  | { kind: 'early'; number: bigint }
  | { kind: 'inVain'; number: bigint }
  /** A node announced a block that no node serves. */
  | { kind: 'unserved'; hash: Hash }
  | { kind: 'lost'; host: string; reason: string }
  /** The node could not be asked; it is asked again. */
  | { kind: 'unknown'; reason: string }
  /** A block could not be prepared; requests stand on it nevertheless. */
  | { kind: 'failed'; reason: string }
  /** A block could not be told to who listens; it is tried again. */
  | { kind: 'untold'; reason: string }

/** For `/health/ready` and the metrics. */
export interface HeadStatus {
  mode: FollowMode
  following: boolean
  /** WebSocket connections that are subscribed, of how many. */
  subscribed: number
  urls: number
  head?: bigint
  /** Milliseconds since that head was first seen. */
  ageMs?: number
  /** Whether requests stand on that head without asking. */
  trusted: boolean
  /** Learnt milliseconds between blocks. */
  intervalMs: number
}
