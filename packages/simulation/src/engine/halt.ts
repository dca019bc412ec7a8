/** Why a call's outermost frame halted. `haltMessage` returns geth's message. */
export type Halt =
  | {
      kind:
        | 'outOfGas'
        /** SSTORE with no more gas left than EIP-2200's stipend. */
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
  /** `size`: bytes that a constructor returned. */
  | { kind: 'codeTooLarge'; size: number; limit: number }
  /** geth's name of the opcode. */
  | { kind: 'invalidOpcode'; opcode: string }
  /** `height`: words on the stack; `inputs`: words that the instruction takes. */
  | { kind: 'stackUnderflow'; height: number; inputs: number }
  /** A state-changing instruction in a static frame. `isPriced`: geth finds it while it computes the gas cost. */
  | { kind: 'writeProtection'; isPriced: boolean }
  | { kind: 'precompile'; fault: PrecompileFault }
  /** A halt that geth has no message for, by the engine's name. */
  | { kind: 'other'; name: string }

/** The fault in a precompiled contract's input. */
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
