import type { Address, Hex } from 'viem'
import type { Named } from '../names/decode.js'
import type { AssetChanges } from './assets.js'

/** The part of an `upfront_simulate` result that is shown. */
export interface SimulatedBlock {
  number: Hex
  /** Only on the first block: a link to the request on the same block. */
  link?: string
  calls: SimulatedCall[]
}

export interface Log {
  address: Address
  topics: Hex[]
  data: Hex
}

export interface SimulatedCall {
  gasUsed: Hex
  returnData: Hex
  logs: Log[]
  error?: { code: number; message: string; data?: Hex }
  trace: Frame
  stateDiff: StateDiff
  assetChanges: AssetChanges
  /** Logs in the order of the call's logs; null if unknown. */
  decoded?: { call?: Named; error?: Named; logs: (Named | null)[] }
  outcome?: CallOutcome
  userOperation?: Operation
  safeTransaction?: SafeTransaction
}

/** The changes of each account, before and after. */
export type StateDiff = Record<
  Address,
  {
    balance?: Change
    nonce?: Change
    code?: Change
    storage?: Record<Hex, Change>
  }
>

export interface Change {
  from: Hex
  to: Hex
}

/** A frame of geth's callTracer. */
export interface Frame {
  type: string
  from: Address
  to?: Address
  value?: Hex
  gas?: Hex
  gasUsed: Hex
  input?: Hex
  output?: Hex
  error?: string
  revertReason?: string
  calls?: Frame[]
  decoded?: { call?: Named; error?: Named }
}

/** One phase of a user operation. */
interface Part {
  status: Hex
  gasUsed: Hex
  error?: string
}

interface Validation extends Part {
  signature?: 'valid' | 'invalid' | 'missing' | 'aggregated'
  assumed?: 'signature' | 'validation'
}

/** A user operation, shown next to its entry point's call. */
export interface Operation {
  sender: Address
  status: Hex
  refusal?: string
  validation?: Validation
  paymaster?: Validation & { address: Address }
  brokenRules: { rule: string; entity: string; contract: Address; what: string }[]
  execution?: Part & { transfers?: AssetChanges['transfers']; approvals?: AssetChanges['approvals'] }
  actualGasCost?: Hex
}

/** A Safe transaction, shown next to the Safe's call. */
export interface SafeTransaction {
  safe: Address
  safeTxHash: Hex
  nonce: Hex
  nextNonce: Hex
  threshold: Hex
  owners: Address[]
  guard?: Address
  isGuarded: boolean
  status: Hex
  error?: string
}

/** The gateway's `outcome`: whether a call would have the same effect under other circumstances. */
export interface CallOutcome {
  verdict: 'holds' | 'changes' | 'watched'
  because: { fact?: { kind: string }; under: string; effect: string }[]
}
