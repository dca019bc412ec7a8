/** Why a call's outermost frame halted, as facts. `haltMessage` words them as geth does. */
export type Halt =
  | {
      kind:
        | 'outOfGas'
        /** SSTORE found no more than EIP-2200's stipend. */
        | 'reentrancySentry'
        | 'returnDataOutOfBounds'
        | 'stackOverflow'
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
  /** By geth's name. */
  | { kind: 'invalidOpcode'; opcode: string }
  /** `height`: words on the stack; `inputs`: words that the instruction takes. */
  | { kind: 'stackUnderflow'; height: number; inputs: number }
  /** An instruction that may not run in a static frame; `isPriced`: geth finds that as it computes the price. */
  | { kind: 'writeProtection'; isPriced: boolean }
  | { kind: 'precompile'; fault: PrecompileFault }
  /** What geth has no words for, by the engine's name for it. */
  | { kind: 'other'; name: string }

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
