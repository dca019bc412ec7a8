import { DecodeError, mismatch, Place } from '../decode/decode-error.js'
import { decodeBoolean, decodeObject } from '../decode/structure.js'
import { ErrorCode, RpcError } from '../rpc-error.js'
import { decodeTracer, type Tracer } from './tracer.js'

/** What `upfront_simulate` shows beside what `eth_simulateV1` does. */
export interface Inspection {
  /** Of each call. */
  trace?: Tracer
  /** Of each block and each call. */
  stateDiff: boolean
  /** Of each call (EIP-2930). */
  accessLists: boolean
  /** What each call moves and approves, confirmed by the contracts. */
  assetChanges: boolean
}

export const INSPECTION_FIELDS = ['trace', 'stateDiff', 'accessLists', 'assetChanges'] as const

/**
 * Takes what `upfront_simulate` has beside the parameters of `eth_simulateV1` out of its payload. `trace` is `true` for the
 * callTracer with logs, or names a tracer: `{ tracer, tracerConfig }`.
 * @returns the inspection, and the params of `eth_simulateV1`
 * @throws RpcError -32602 with the place of what is wrong
 */
export function decodeInspection(params: unknown): { inspection: Inspection; params: unknown[] } {
  try {
    if (!Array.isArray(params)) throw mismatch(undefined, 'params to be [payload, blockParameter]', params)
    const payload = {
      ...decodeObject(params[0], 'an object with `blockStateCalls`', new Place(undefined, 'params[0]')),
    }
    const { trace } = payload
    const flag = (name: string) => {
      const value = payload[name]
      return value !== undefined && value !== null && decodeBoolean(value, undefined, name)
    }
    const inspection: Inspection = {
      ...(trace !== undefined && trace !== null && trace !== false && { trace: decodeTrace(trace) }),
      stateDiff: flag('stateDiff'),
      accessLists: flag('accessLists'),
      assetChanges: flag('assetChanges'),
    }
    for (const field of INSPECTION_FIELDS) delete payload[field]
    return { inspection, params: [payload, ...params.slice(1)] }
  } catch (error) {
    if (error instanceof DecodeError) throw new RpcError(ErrorCode.invalidParams, error.message)
    throw error
  }
}

function decodeTrace(value: unknown): Tracer {
  if (value === true) return { name: 'callTracer', config: { withLog: true } }
  const place = new Place(undefined, 'trace')
  const { tracer = 'callTracer', tracerConfig } = decodeObject(value, 'a boolean or an object with `tracer`', place)
  return decodeTracer(tracer, tracerConfig, place)
}
