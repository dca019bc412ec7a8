import type { JsonText, StructLoggerConfig } from '@upfront/protocol'
import type { CallRecord } from '../engine/call-record.js'
import type { StepOptions } from '../plan/recording.js'

export function stepOptionsOf({
  enableMemory = false,
  disableStack = false,
  disableStorage = false,
  enableReturnData = false,
  limit = 0,
}: StructLoggerConfig): StepOptions {
  return {
    stack: !disableStack,
    memory: enableMemory,
    storage: !disableStorage,
    returnData: enableReturnData,
    limit,
  }
}

/**
 * A call's instructions in geth's struct logger format (eth/tracers/logger/logger.go): `{ gas, failed, returnValue, structLogs }` as JSON,
 * in parts. The engine wrote `structLogs`.
 */
export function structLogJson({ steps = '', frames, gasUsed }: CallRecord): JsonText[] {
  const [top] = frames
  const failed = top === undefined || top.reverted || top.halt !== undefined
  const returnValue = top === undefined || top.halt !== undefined ? '0x' : top.output
  return [`{"gas":${gasUsed},"failed":${failed},"returnValue":"${returnValue}","structLogs":[`, steps, ']}']
}
