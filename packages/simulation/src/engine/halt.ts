import type { Hex } from '@upfront/protocol'
import type { EthereumFork } from '../plan/chain-rules.js'

/** Why a call's outermost frame halted, as facts. `haltMessage` words them as geth does. */
export type Halt =
  | {
      kind:
        | 'outOfGas'
        | 'invalidJump'
        | 'addressCollision'
        | 'codeStorageOutOfGas'
        | 'codeStartsWithEf'
        | 'nonceOverflow'
        | 'callTooDeep'
        | 'insufficientBalance'
        | 'balanceOverflow'
        | 'precompileFailed'
    }
  /** Bytes that a constructor returned. */
  | { kind: 'codeTooLarge'; size: number; limit: number }
  | { kind: 'invalidOpcode'; opcode: number }
  /** An instruction that may not run in a static frame. */
  | { kind: 'writeProtection'; step: HaltedStep }
  /** An instruction that could not be paid for, or found too few, too many or impossible operands. */
  | { kind: 'instruction'; step: HaltedStep }
  /** `gas` is what the precompile was given. */
  | { kind: 'precompile'; fault: PrecompileFault; gas: bigint; input: Hex }
  /** What geth has no words for, by the engine's name for it. */
  | { kind: 'other'; name: string }

/** The instruction that halted. */
export interface HaltedStep {
  fork: EthereumFork
  opcode: number
  /** Words on the stack before it. */
  height: number
  /** What else it found; absent where geth's words do not depend on it. */
  found?: FoundByStep
}

export interface FoundByStep {
  /** From the top of the stack, seven at most. */
  operands: bigint[]
  /** Absent where the engine has already taken it. */
  gas?: bigint
  /** Before it, bytes. */
  memory: number
  /** Of the last call, bytes. */
  returnData: number
  /** Whether the account that a call or SELFDESTRUCT names was cold (EIP-2929). */
  isCold: boolean
}

/** What is wrong with a precompiled contract's input. */
export type PrecompileFault =
  | 'outOfGas'
  | 'inputLength'
  | 'modexpLength'
  | 'pairingLength'
  | 'blsPairingLength'
  | 'finalFlag'
  | 'fieldElement'
  | 'notOnCurve'
  | 'versionedHash'
  | 'kzgProof'
  | 'blsFieldElement'
  | 'blsNotOnCurve'
  | 'g1Subgroup'
  | 'g2Subgroup'
  | 'unknown'
