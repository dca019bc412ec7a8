import type { Address, Hex } from 'viem'
import type { Named } from '../names/decode.js'
import type { AssetChanges } from './assets.js'

/** As the gateway's `upfront_simulate` answers, as far as it is shown. */
export interface SimulatedBlock {
  number: Hex
  /** Of the first: the request as a link, on the block that it stood on. */
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
  /** Logs are in the order of the call's; null: not known. */
  decoded?: { call?: Named; error?: Named; logs: (Named | null)[] }
  outcome?: CallOutcome
  userOperation?: Operation
  safeTransaction?: SafeTransaction
}

/** What changes of each account, from and to. */
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

/** A part of a user operation, as the gateway shows it. */
interface Part {
  status: Hex
  gasUsed: Hex
  error?: string
}

interface Validation extends Part {
  signature?: 'valid' | 'invalid' | 'missing' | 'aggregated'
  assumed?: 'signature' | 'validation'
  validAfter?: Hex
  validUntil?: Hex
}

/** A user operation beside the call of its entry point. */
export interface Operation {
  sender: Address
  entryPoint: Address
  userOpHash?: Hex
  status: Hex
  refusal?: string
  validation?: Validation
  paymaster?: Validation & { address: Address }
  brokenRules: { rule: string; entity: string; contract: Address; what: string }[]
  execution?: Part & { transfers?: AssetChanges['transfers']; approvals?: AssetChanges['approvals'] }
  actualGasUsed?: Hex
  actualGasCost?: Hex
}

/** A Safe's transaction beside the call of the Safe. */
export interface SafeTransaction {
  safe: Address
  version: string
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

/** Whether a call would do the same under other circumstances, as the gateway answers `outcome`. */
export interface CallOutcome {
  verdict: 'holds' | 'changes' | 'watched'
  because: { fact?: { kind: string }; under: string; effect: string }[]
}
