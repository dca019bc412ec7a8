import type { Address, Call, Hex, StateOverride } from '@upfront/protocol'
import type { CallRecord } from '../engine/call-record.js'
import type { Assumed } from './assume-signature.js'
import { type PricedOperation, USER_OPERATION_EVENT } from './entry-point.js'
import type { OperationFrames } from './operation-frames.js'
import type { BrokenRule } from './validation-rules.js'

/** A user operation as a `handleOps` call. */
export interface OperationCall {
  call: Call
  overrides: StateOverride[]
  operation: PricedOperation
  entryPoint: Address
  /** Its validation frames without anything assumed. */
  validation: OperationFrames
  /** The operation names no `callGasLimit`. The EntryPoint's penalty on unused gas would then depend on our default. */
  isOpen: boolean
  /** The operation has no signature. */
  isUnsigned: boolean
  /** What the run assumes about the validation. */
  assumed: { account?: Assumed; paymaster?: 'signature' }
  /** Undefined if the EntryPoint returned no hash. */
  userOpHash: Hex | undefined
  rules: BrokenRule[]
  /** The EntryPoint's refusal, present if the operation fails even with those assumptions. */
  refusal?: { reason: string; inner?: Hex }
}

/** Sufficient gas limits, in ERC-7769's names. A limit that was not found is absent. */
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

/** The data of `UserOperationEvent`. */
export interface OperationEvent {
  success: boolean
  /** Wei. */
  actualGasCost: bigint
  actualGasUsed: bigint
}

/** Undefined if the EntryPoint emitted no event. @param record of the `handleOps` call, with frames */
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
