import type { StructLoggerConfig } from '@upfront/protocol'
import type { CallRecord, RecordedHalt } from '../engine/call-record.js'
import type { Halt } from '../engine/halt.js'
import type { StepOptions } from '../plan/recording.js'
import { haltMessage } from '../present/halt-message.js'

/** What geth always finds before an instruction runs: only then has its step an error. */
const FOUND_BEFORE: readonly Halt['kind'][] = ['outOfGas', 'reentrancySentry', 'stackUnderflow', 'stackOverflow']

/** Look for the word that the byte after them names as they run (EIP-8024); before, for the one or two that they move. */
const BY_NUMBER = /"op":"(?:DUPN|SWAPN|EXCHANGE)"/

function isFoundBefore(halt: Halt, step: string): boolean {
  if (halt.kind === 'stackUnderflow' && halt.inputs > 2 && BY_NUMBER.test(step)) return false
  return halt.kind === 'writeProtection' ? halt.isPriced : FOUND_BEFORE.includes(halt.kind)
}

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
 * Each instruction of a call as geth's struct logger shows it (eth/tracers/logger/logger.go), as JSON:
 * `{ gas, failed, returnValue, structLogs }`.
 */
export function structLogJson({ steps, haltedSteps, frames, gasUsed }: CallRecord, config: StructLoggerConfig): string {
  const [top] = frames
  const failed = top === undefined || top.reverted || top.halt !== undefined
  const shown = [...steps]
  for (const halted of haltedSteps) shown[halted.at] += endOfHalted(halted, shown[halted.at]!)
  const kept = config.limit ? shown.slice(0, countWithin(shown, config.limit)) : shown
  const returnValue = top === undefined || top.halt !== undefined ? '0x' : top.output
  return `{"gas":${gasUsed},"failed":${failed},"returnValue":"${returnValue}","structLogs":[${kept.join(',')}]}`
}

function endOfHalted({ halt, depth, cost, rest }: RecordedHalt, step: string): string {
  const said = isFoundBefore(halt, step) ? `,"error":${JSON.stringify(haltMessage(halt))}` : ''
  return `,"gasCost":${cost},"depth":${depth}${said}${rest}`
}

/** geth ends with the step that goes beyond the limit, bytes. */
function countWithin(steps: readonly string[], limit: number): number {
  let bytes = 0
  const last = steps.findIndex((step) => {
    bytes += step.length
    return bytes > limit
  })
  return last < 0 ? steps.length : last + 1
}
