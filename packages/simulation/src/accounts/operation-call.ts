import type { Address, Call, Hex, StateOverride } from '@upfront/protocol'
import type { Assumed } from './assumed-signature.js'
import type { PricedOperation } from './entry-point.js'
import type { OperationFrames } from './operation-frames.js'
import type { BrokenRule } from './validation-rules.js'

/** A user operation as the call that carries it out. */
export interface OperationCall {
  call: Call
  overrides: StateOverride[]
  operation: PricedOperation
  entryPoint: Address
  /** As it is, whatever is assumed of the signature. */
  validation: OperationFrames
  /** It names no limit for its call: what is left of a high one is charged in part, which says nothing. */
  isOpen: boolean
  /** Nobody signed it. */
  isUnsigned: boolean
  /** What the run takes for granted. */
  assumed: { account?: Assumed; paymaster?: 'signature' }
  /** Undefined where the EntryPoint gives none. */
  userOpHash: Hex | undefined
  rules: BrokenRule[]
  /** Why the EntryPoint refuses it, whatever is assumed. */
  refusal?: { reason: string; inner?: Hex }
}

/** Limits that suffice, as ERC-7769 names them; one that was not found is absent. */
export type OperationGas = Partial<
  Record<
    | 'preVerificationGas'
    | 'verificationGasLimit'
    | 'callGasLimit'
    | 'paymasterVerificationGasLimit'
    | 'paymasterPostOpGasLimit',
    Hex
  >
>
