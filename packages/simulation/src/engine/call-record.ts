import type { Address, Hash, Hex, JsonText } from '@upfront/protocol'
import type { Halt } from './halt.js'

/** What one call did, as facts; tracers present it. */
export interface CallRecord {
  /** Of the transaction: its limit. */
  gas: bigint
  /** Of the transaction, after refunds. */
  gasUsed: bigint
  /** In the order in which they began; the first is the call itself. Empty where the plan did not ask for them. */
  frames: Frame[]
  /** In no order; empty where the plan asked for neither state nor balances. */
  accounts: RecordedAccount[]
  /** In the order of the plan's probes for this call. */
  probed: Probed[]
  /** That answering took: all probes before and after the call together, before refunds. */
  probeGas: bigint
  /** Instructions as geth's struct logger writes them: what stands between the brackets of a JSON array. Absent where there are none. */
  steps?: JsonText
  /** What KECCAK256 hashed, each once, in ascending order; empty where the plan did not ask for uses. */
  preimages: Hex[]
  /** What decided the outcome; absent where the plan did not ask for it. */
  dependencies?: Dependencies
  /** Calls of which this is the same have the same effects, see `effectsOf`; absent where the plan did not ask for it. */
  effects?: Hash
}

export interface Dependencies {
  /** In the order in which they were found. */
  facts: DecidingFact[]
  /** There was more to follow than an engine follows: other facts may have decided too. */
  isPartial: boolean
  /** The call is known to come to the same at the time that the plan asked about; else that is not known. Only of a plan of one call. */
  isSameLater: boolean
}

export type FactKind =
  | 'slot'
  | 'balance'
  | 'code'
  | 'blockHash'
  | 'time'
  | 'number'
  | 'coinbase'
  | 'prevRandao'
  | 'gasLimit'
  | 'baseFee'
  | 'blobBaseFee'
  | 'gasPrice'
  | 'origin'
  | 'gasLeft'

/** A value of the state, of the block or of the transaction that decided an outcome. */
export interface DecidingFact {
  kind: FactKind
  /** Of a slot, a balance or a code. */
  address?: Address
  slot?: Hash
  /** Of the block whose hash it is. */
  number?: bigint
  /** As it was found first: of a code its size, its hash, or whom it delegates to. */
  value: bigint
  /** Where its value went: the bits of `REACHED`. */
  reached: number
  /** How many of the last blocks that the engine holds changed it, and how many those are. */
  changed: number
  blocks: number
}

/** The place that a fact's value went to, as a bit of `DecidingFact.reached`. */
export const REACHED = {
  /** The condition of a branch. */
  branch: 1,
  /** One of whose sides leads to nothing but an error, or what a transfer needs to succeed. */
  guard: 2,
  /** A destination that was computed. */
  jump: 4,
  /** Who is called or created. */
  target: 8,
  /** Who gets a transfer, by the fact's own word. */
  recipient: 16,
  /** A value sent, or what a token's log tells. */
  amount: 32,
  /** An amount by a comparison, or what does for one. */
  selection: 64,
  /** The number of a slot. */
  slot: 128,
  /** How much is copied, hashed or returned. */
  size: 256,
  /** The gas that a call gets. */
  allowance: 512,
} as const

/** What the contract answered; absent where it failed, was not asked, or used more than 500,000 gas, or answered with more than 1,024 bytes. */
export interface Probed {
  before?: Hex
  after?: Hex
}

export type FrameKind = 'CALL' | 'CALLCODE' | 'DELEGATECALL' | 'STATICCALL' | 'CREATE' | 'CREATE2' | 'SELFDESTRUCT'

export interface Frame {
  kind: FrameKind
  /** 0: the call itself. */
  depth: number
  /** Of DELEGATECALL the account whose code asks for it. */
  from: Address
  /** Whose code runs; of a creation its address, made or not; of SELFDESTRUCT who gets the balance. */
  to?: Address
  /** Of a creation its init code. */
  input: Hex
  /** Of a creation the code that it deploys; revert data; empty where it halted. */
  output: Hex
  /** What it was given: for the call itself without what its transaction costs before it runs. */
  gas: bigint
  /** Before refunds. */
  gasUsed: bigint
  /** Absent for STATICCALL; the caller's for DELEGATECALL. */
  value?: bigint
  reverted: boolean
  /** Why it halted. */
  halt?: Halt
  /** `to` is one of the fork's precompiles, whatever overrides move. */
  isPrecompile: boolean
  /** Reverted or not; without traced transfers. */
  logs: FrameLog[]
  /** Where the plan asks for it. */
  uses?: FrameUses
}

/** What the instructions of a frame use, without those of the frames that it opens: see geth's erc7562Tracer. */
export interface FrameUses {
  /** How often; GAS where no call follows it. */
  opcodes: (readonly [opcode: number, count: number])[]
  /** Slots that were read before they were written, with what was found. */
  reads: (readonly [slot: Hash, value: Hash])[]
  writes: (readonly [slot: Hash, count: number])[]
  transientReads: (readonly [slot: Hash, count: number])[]
  transientWrites: (readonly [slot: Hash, count: number])[]
  /** By EXTCODE*, save an EXTCODESIZE that ISZERO follows. */
  inspected: Address[]
  /** By EXTCODE* and calls, each once. */
  named: NamedContract[]
}

export interface NamedContract {
  address: Address
  /** Bytes. */
  codeSize: number
  /** That named it first. */
  opcode: number
}

/** Whether the frame reverted or halted. */
export function hasFailed({ reverted, halt }: Pick<Frame, 'reverted' | 'halt'>): boolean {
  return reverted || halt !== undefined
}

/** The frames that neither failed nor are below one that did: what they did lasts. */
export function lastingFrames(frames: readonly Frame[]): Frame[] {
  let failedAt = Number.POSITIVE_INFINITY
  return frames.filter((frame) => {
    if (frame.depth <= failedAt) failedAt = hasFailed(frame) ? frame.depth : Number.POSITIVE_INFINITY
    return failedAt === Number.POSITIVE_INFINITY
  })
}

export interface FrameLog {
  /** How many frames its own had opened before it. */
  position: number
  address: Address
  topics: Hash[]
  data: Hex
}

/** An account that the call read or changed. */
export interface RecordedAccount {
  address: Address
  /** Named by an instruction that could be paid for, or by the transaction itself: what geth's prestateTracer shows. */
  isRead: boolean
  /** Belongs into the call's access list for itself: accessed, and none that every transaction has there. */
  isAccessed: boolean
  /** SELFDESTRUCT removes it, as geth's prestateTracer counts: reverted or not. */
  isRemoved: boolean
  before: AccountFacts
  after: AccountFacts
  slots: RecordedSlot[]
}

export interface AccountFacts {
  exists: boolean
  balance: bigint
  nonce: bigint
  codeHash: Hash
  /** Absent after the call where it is the same as before. */
  code?: Hex
}

export interface RecordedSlot {
  slot: Hash
  /** See `RecordedAccount`. */
  isRead: boolean
  isAccessed: boolean
  before: Hash
  after: Hash
}
