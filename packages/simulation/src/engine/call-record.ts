import type { Address, Hash, Hex, JsonText } from '@upfront/protocol'
import type { Halt } from './halt.js'

/** What one call did; tracers present it. */
export interface CallRecord {
  /** The transaction's gas limit. */
  gas: bigint
  /** The transaction's gas used, after refunds. */
  gasUsed: bigint
  /** In the order in which they began; the first is the call itself. Empty if the plan did not ask for them. */
  frames: Frame[]
  /** Unordered; empty if the plan asked for neither state nor balances. */
  accounts: RecordedAccount[]
  /** In the order of the plan's probes for this call. */
  probed: Probed[]
  /** Gas of all probes before and after the call, before refunds. */
  probeGas: bigint
  /** Instructions as geth's struct logger writes them: the elements of a JSON array, without brackets. Absent if there are none. */
  steps?: JsonText
  /** Inputs of KECCAK256, distinct and sorted; empty if the plan did not ask for uses. */
  preimages: Hex[]
  /** The facts that decided the outcome; absent if the plan did not ask for them. */
  dependencies?: Dependencies
  /** Digest of the call's effects, see `effectsOf`; absent if the plan did not ask for it. */
  effects?: Hash
}

export interface Dependencies {
  /** In the order in which they were found. */
  facts: DecidingFact[]
  /** The engine's limits were reached: other facts may have decided too. */
  isPartial: boolean
  /** Whether the call is known to have the same outcome at the later time that the plan asked about. Only for plans with a single call. */
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

/** A value of the state, block or transaction that decided an outcome. */
export interface DecidingFact {
  kind: FactKind
  /** Set for a slot, a balance or a code. */
  address?: Address
  slot?: Hash
  /** Set for a block hash: the block's number. */
  number?: bigint
  /** The value when first found; for code its size, its hash or the account it delegates to. */
  value: bigint
  /** What the value reached: bits of `REACHED`. */
  reached: number
  /** In how many of the last carried blocks it was written, and how many of those are counted (at most 100). */
  changed: number
  blocks: number
}

/** What a fact's value reached, as a bit of `DecidingFact.reached`. */
export const REACHED = {
  /** The condition of a branch. */
  branch: 1,
  /** A branch with a side that always fails, or a condition of a transfer's success. */
  guard: 2,
  /** A computed jump destination. */
  jump: 4,
  /** The address that is called or created. */
  target: 8,
  /** The recipient of a transfer, if the value itself is the address. */
  recipient: 16,
  /** A value sent, or the amount in a token's log. */
  amount: 32,
  /** An amount chosen by a comparison or an equivalent computation. */
  selection: 64,
  /** The number of a slot. */
  slot: 128,
  /** A length that is copied, hashed or returned. */
  size: 256,
  /** The gas given to a call. */
  allowance: 512,
} as const

/** The contract's answers. Absent if it failed, was not asked, used more than 500,000 gas, or returned more than 1,024 bytes. */
export interface Probed {
  before?: Hex
  after?: Hex
}

export type FrameKind = 'CALL' | 'CALLCODE' | 'DELEGATECALL' | 'STATICCALL' | 'CREATE' | 'CREATE2' | 'SELFDESTRUCT'

export interface Frame {
  kind: FrameKind
  /** 0 for the call itself. */
  depth: number
  /** For DELEGATECALL, the account whose code makes the call. */
  from: Address
  /** The account whose code runs; for a creation the new address, even if it fails; for SELFDESTRUCT the beneficiary. */
  to?: Address
  /** For a creation, the init code. */
  input: Hex
  /** The return or revert data; for a creation the deployed code. Empty if it halted. */
  output: Hex
  /** Gas given to the frame; for the call itself without the intrinsic gas. */
  gas: bigint
  /** Before refunds. */
  gasUsed: bigint
  /** Absent for STATICCALL; for DELEGATECALL the caller's. */
  value?: bigint
  reverted: boolean
  /** Set if it halted. */
  halt?: Halt
  /** Whether `to` is one of the fork's precompiles, regardless of overrides that move them. */
  isPrecompile: boolean
  /** Logs of the frame even if it reverted, without traced transfers. */
  logs: FrameLog[]
  /** Set if the plan asks for it. */
  uses?: FrameUses
}

/** What a frame's own instructions use, without inner frames: see geth's erc7562Tracer. */
export interface FrameUses {
  /** Count by opcode. GAS counts only if no call follows it. */
  opcodes: (readonly [opcode: number, count: number])[]
  /** Slots read before they were written, with the value found. */
  reads: (readonly [slot: Hash, value: Hash])[]
  writes: (readonly [slot: Hash, count: number])[]
  transientReads: (readonly [slot: Hash, count: number])[]
  transientWrites: (readonly [slot: Hash, count: number])[]
  /** Targets of EXTCODE*, except an EXTCODESIZE followed by ISZERO. */
  inspected: Address[]
  /** Distinct targets of EXTCODE* and calls. */
  named: NamedContract[]
}

export interface NamedContract {
  address: Address
  /** Bytes. */
  codeSize: number
  /** The first opcode that named it. */
  opcode: number
}

/** Whether the frame reverted or halted. */
export function hasFailed({ reverted, halt }: Pick<Frame, 'reverted' | 'halt'>): boolean {
  return reverted || halt !== undefined
}

/** Frames that neither failed nor are inside a failed one: their effects last. */
export function lastingFrames(frames: readonly Frame[]): Frame[] {
  let failedAt = Number.POSITIVE_INFINITY
  return frames.filter((frame) => {
    if (frame.depth <= failedAt) failedAt = hasFailed(frame) ? frame.depth : Number.POSITIVE_INFINITY
    return failedAt === Number.POSITIVE_INFINITY
  })
}

export interface FrameLog {
  /** How many inner frames its frame had opened before it. */
  position: number
  address: Address
  topics: Hash[]
  data: Hex
}

/** An account that the call read or changed. */
export interface RecordedAccount {
  address: Address
  /** Named by an instruction whose access was paid, or by the transaction: shown by geth's prestateTracer. */
  isRead: boolean
  /** Belongs in the call's access list even without slots: accessed, and no sender, recipient, precompile or authority. */
  isAccessed: boolean
  /** Removed by SELFDESTRUCT as geth's prestateTracer counts it, even if reverted. */
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
  /** Absent after the call if unchanged. */
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
