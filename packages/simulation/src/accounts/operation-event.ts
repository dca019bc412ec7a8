import type { Address } from '@upfront/protocol'
import type { CallRecord } from '../engine/call-record.js'
import { USER_OPERATION_EVENT } from './entry-point.js'

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
