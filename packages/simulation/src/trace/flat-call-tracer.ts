import type { Address, FlatCallTracerConfig, Hash, Hex } from '@upfront/protocol'
import type { CallRecord } from '../engine/call-record.js'
import { AnswerTooLong } from '../engine/engine.js'
import { type CallFrame, callTrace } from './call-tracer.js'

/** The transaction whose frames are shown. */
export interface TracedAt {
  /** Null in a block without a hash. */
  blockHash: Hash | null
  blockNumber: bigint
  transactionHash: Hash
  transactionPosition: number
}

/** A frame in geth's flatCallTracer format (eth/tracers/native/call_flat.go), which is OpenEthereum's. */
export interface FlatCall {
  action: Record<string, Hex>
  blockHash: Hash | null
  blockNumber: number
  error?: string
  /** Absent if the frame halted. */
  result?: { address?: Address; code?: Hex; gasUsed: Hex; output?: Hex }
  subtraces: number
  /** The index among its caller's frames, at each level. */
  traceAddress: number[]
  transactionHash: Hash | null
  transactionPosition: number
  type: 'call' | 'create' | 'suicide'
}

/** Most numbers in all trace addresses of an answer: deep frames have long ones. */
export const MAX_TRACE_LEVELS = 1_000_000

const REVERTED = 'execution reverted'
const PARITY_ERRORS: Readonly<Record<string, string>> = {
  'contract creation code storage out of gas': 'Out of gas',
  'out of gas': 'Out of gas',
  'gas uint64 overflow': 'Out of gas',
  'max code size exceeded': 'Out of gas',
  'invalid jump destination': 'Bad jump destination',
  [REVERTED]: 'Reverted',
  'return data out of bounds': 'Out of bounds',
  'stack limit reached 1024 (1023)': 'Out of stack',
  'precompiled failed': 'Built-in failed',
  'invalid input length': 'Built-in failed',
}
const PARITY_ERRORS_BY_START: Readonly<Record<string, string>> = {
  'out of gas:': 'Out of gas',
  'invalid opcode:': 'Bad instruction',
  'stack underflow': 'Stack underflow',
}

/**
 * A call's frames, each after its caller. Calls of precompiles are left out unless wanted, but for the call itself.
 * @throws AnswerTooLong if too many frames are too deep
 */
export function flatCallTrace(
  record: CallRecord,
  { convertParityErrors, includePrecompiles }: FlatCallTracerConfig = {},
  at?: TracedAt,
): FlatCall[] | null {
  const top = callTrace(record)
  if (top === null) return null
  const flat: FlatCall[] = []
  let next = 0
  let levels = 0
  const add = (frame: CallFrame, traceAddress: number[]): boolean => {
    const { isPrecompile } = record.frames[next++]!
    const isPlain = frame.type === 'CALL' || frame.type === 'STATICCALL'
    if (isPrecompile && isPlain && !includePrecompiles && traceAddress.length > 0) return false
    levels += traceAddress.length
    if (levels > MAX_TRACE_LEVELS) throw new AnswerTooLong(MAX_TRACE_LEVELS)
    const shown = flatCall(frame, traceAddress, at)
    if (convertParityErrors && shown.error !== undefined) shown.error = parityError(shown.error)
    flat.push(shown)
    for (const inner of frame.calls ?? []) if (add(inner, [...traceAddress, shown.subtraces])) shown.subtraces += 1
    return true
  }
  add(top, [])
  return flat
}

function flatCall(frame: CallFrame, traceAddress: number[], at: TracedAt | undefined): FlatCall {
  const { error } = frame
  const { type, action, result } = actionOf(frame)
  return {
    action,
    blockHash: at?.blockHash ?? null,
    blockNumber: Number(at?.blockNumber ?? 0n),
    ...(error !== undefined && { error }),
    ...((error === undefined || error === REVERTED) && result && { result }),
    subtraces: 0,
    traceAddress,
    transactionHash: at?.transactionHash ?? null,
    transactionPosition: at?.transactionPosition ?? 0,
    type,
  }
}

function actionOf(frame: CallFrame): Pick<FlatCall, 'type' | 'action' | 'result'> {
  const { type, from, to, gas, gasUsed, input, output = '0x', value = '0x0' } = frame
  switch (type) {
    case 'SELFDESTRUCT':
      return { type: 'suicide', action: { address: from, balance: value, ...(to && { refundAddress: to }) } }
    case 'CREATE':
    case 'CREATE2': {
      const action = { creationMethod: type.toLowerCase() as Hex, from, gas, value, init: input }
      return { type: 'create', action, result: { gasUsed, ...(to && { address: to }), code: output } }
    }
    default: {
      const action = { callType: type.toLowerCase() as Hex, from, gas, value, input, ...(to && { to }) }
      return { type: 'call', action, result: { gasUsed, output } }
    }
  }
}

function parityError(error: string): string {
  if (Object.hasOwn(PARITY_ERRORS, error)) return PARITY_ERRORS[error]!
  const start = Object.keys(PARITY_ERRORS_BY_START).find((each) => error.startsWith(each))
  return start === undefined ? error : PARITY_ERRORS_BY_START[start]!
}
