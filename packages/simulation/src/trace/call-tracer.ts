import { type Address, type CallTracerConfig, type Hash, type Hex, toQuantity } from '@upfront/protocol'
import { type CallRecord, type Frame, type FrameKind, hasFailed, lastingFrames } from '../engine/call-record.js'
import { haltMessage } from '../present/halt-message.js'
import { revertMessage } from '../present/revert-reason.js'

/** A frame in geth's callTracer format (eth/tracers/native/call.go). Empty fields are left out. */
export interface CallFrame {
  from: Address
  gas: Hex
  gasUsed: Hex
  to?: Address
  input: Hex
  output?: Hex
  error?: string
  revertReason?: string
  calls?: CallFrame[]
  logs?: CallLog[]
  value?: Hex
  type: FrameKind
}

export interface CallLog {
  address: Address
  topics: Hash[]
  data: Hex
  /** Index among the call's logs at that time; logs of frames reverted before do not count. */
  index: Hex
  /** How many inner frames its frame had opened before it. */
  position: Hex
}

/**
 * A call's frames as a tree.
 * @param firstLog index of the call's first log
 */
export function callTrace(
  { frames, gas, gasUsed }: CallRecord,
  { withLog, onlyTopCall }: CallTracerConfig = {},
  firstLog = 0,
): CallFrame | null {
  const [top] = frames
  if (top === undefined) return null
  const trace = presentFrame({ ...top, gas, gasUsed })
  if (!onlyTopCall) nest(trace, frames)
  if (withLog) addLogs(trace, frames, firstLog)
  // geth's position counts only frames that it keeps.
  if (onlyTopCall) for (const log of trace.logs ?? []) log.position = '0x0'
  return trace
}

function presentFrame(frame: Frame): CallFrame {
  const { kind, from, to, input, output, value } = frame
  const failed = hasFailed(frame)
  const isCreation = kind === 'CREATE' || kind === 'CREATE2'
  return {
    from,
    gas: toQuantity(frame.gas),
    gasUsed: toQuantity(frame.gasUsed),
    ...(to !== undefined && !(isCreation && failed) && { to }),
    input,
    ...(output !== '0x' && { output }),
    ...(failed && { error: errorOf(frame) }),
    ...revertReasonOf(frame),
    ...(value !== undefined && { value: toQuantity(value) }),
    type: kind,
  }
}

function errorOf({ halt }: Frame): string {
  return halt === undefined ? 'execution reverted' : haltMessage(halt)
}

function revertReasonOf({ reverted, output }: Frame): { revertReason?: string } {
  const revertReason = reverted ? revertMessage(output) : undefined
  return revertReason ? { revertReason } : {}
}

function nest(trace: CallFrame, frames: readonly Frame[]): void {
  const path = [trace]
  for (const frame of frames.slice(1)) {
    const made = presentFrame(frame)
    const parent = path[frame.depth - 1]!
    if (parent.calls === undefined) parent.calls = [made]
    else parent.calls.push(made)
    path[frame.depth] = made
  }
}

/** Number of logs in the call's receipt, without traced transfers. */
export function countLogs({ frames }: CallRecord): number {
  return lastingFrames(frames).reduce((count, { logs }) => count + logs.length, 0)
}

/** Leaves out logs of failed frames and of frames inside them; their indices are used again. */
function addLogs(trace: CallFrame, frames: readonly Frame[], firstLog: number): void {
  let next = firstLog
  let at = 0
  const visit = (shown: CallFrame | undefined, parentFailed: boolean): void => {
    const frame = frames[at++]!
    const failed = parentFailed || hasFailed(frame)
    const before = next
    const logs: CallLog[] = []
    let children = 0
    const logUntil = (position: number) => {
      for (let log = frame.logs[logs.length]; log && log.position <= position; log = frame.logs[logs.length]) {
        logs.push({
          address: log.address,
          topics: log.topics,
          data: log.data,
          index: `0x${(next++).toString(16)}`,
          position: `0x${log.position.toString(16)}`,
        })
      }
    }
    while (at < frames.length && frames[at]!.depth > frame.depth) {
      logUntil(children)
      visit(shown?.calls?.[children], failed)
      children += 1
    }
    logUntil(children)
    if (failed) next = before
    else if (shown !== undefined && logs.length > 0) shown.logs = logs
  }
  visit(trace, false)
}
