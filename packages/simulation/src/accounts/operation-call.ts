import type { Address, Call, Hex, StateOverride } from '@upfront/protocol'
import type { CallRecord } from '../engine/call-record.js'
import type { Assumed } from './assumed-signature.js'
import { type PricedOperation, USER_OPERATION_EVENT } from './entry-point.js'
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

/** What the EntryPoint says that an operation came to. */
export interface OperationEvent {
  success: boolean
  /** Wei. */
  actualGasCost: bigint
  actualGasUsed: bigint
}

/** Undefined where it did not come to that. @param record of its bundle, with frames */
export function operationEvent({ frames }: CallRecord, entryPoint: Address): OperationEvent | undefined {
  const [top] = frames
  if (top === undefined || top.reverted || top.halt !== undefined) return undefined
  for (const { to, logs, reverted, halt } of frames) {
    if (to !== entryPoint || reverted || halt !== undefined) continue
    const log = logs.find(({ topics }) => topics[0] === USER_OPERATION_EVENT)
    if (log === undefined) continue
    const word = (index: number) => BigInt(`0x${log.data.slice(2 + index * 64, 66 + index * 64)}`)
    return { success: word(1) === 1n, actualGasCost: word(2), actualGasUsed: word(3) }
  }
  return undefined
}
