import { decodeIndex, decodeStateParameter, type StateParameter } from '../block-parameter.js'
import type { CallRequest } from '../call/call-request.js'
import { DecodeError, mismatch, Place } from '../decode/decode-error.js'
import { decodeObject, rejectMistyped } from '../decode/structure.js'
import { decodeBlockOverrides } from '../simulate/decode-block-overrides.js'
import { decodeCall } from '../simulate/decode-call.js'
import { decodeStateOverrides } from '../simulate/decode-state-overrides.js'
import { decodeDuration } from './decode-duration.js'
import { decodeTracer, STRUCT_LOGGER_OPTIONS, type Tracer } from './tracer.js'

/** The decoded `params` of `debug_traceCall`. */
export interface TraceCallRequest extends CallRequest {
  tracing: Tracing
}

/** How to trace. */
export interface Tracing {
  tracer: Tracer
  /** Most time for the execution of one transaction, milliseconds; absent: the request's. */
  timeoutMs?: number
}

const TRACER_FIELDS = ['tracer', 'tracerConfig', 'timeout', 'reexec', 'overrides', ...STRUCT_LOGGER_OPTIONS] as const
const FIELDS = [...TRACER_FIELDS, 'stateOverrides', 'blockOverrides', 'txIndex'] as const

/**
 * Decodes the `params` of `debug_traceCall`: `[call, block, { tracer, tracerConfig, stateOverrides, blockOverrides, txIndex }]`. `block`
 * defaults to `latest`; with `txIndex` the call runs before that transaction of the block. `reexec` has no effect. Without a tracer it is
 * the struct logger, whose options are siblings of `tracer`, as in geth.
 * @throws RpcError -32602 with the place of the error; -32000 with geth's message for an invalid `timeout`
 */
export function decodeTraceCallRequest(params: unknown): TraceCallRequest {
  if (!Array.isArray(params)) throw mismatch(undefined, 'params to be [call, block, config]', params)
  if (params.length > 3) throw new DecodeError(undefined, `expected at most three params, got ${params.length}`)
  const place = new Place(undefined, 'params[2]')
  const config = decodeConfig(params[2], FIELDS, place)
  const { stateOverrides, blockOverrides, txIndex } = config
  return {
    call: decodeCall(params[0], new Place(undefined, 'params[0]')),
    block: decodeBlock(params[1] ?? 'latest', txIndex ?? undefined, new Place(place, 'txIndex')),
    tracing: decodeTracing(config, place),
    stateOverrides:
      stateOverrides == null ? [] : decodeStateOverrides(stateOverrides, new Place(place, 'stateOverrides')),
    blockOverrides:
      blockOverrides == null ? {} : decodeBlockOverrides(blockOverrides, new Place(place, 'blockOverrides')),
  }
}

/**
 * Decodes the `params` of `debug_traceTransaction` and `debug_traceBlockBy…`: what to trace, and the tracer options of `debug_traceCall`.
 * @throws like `decodeTraceCallRequest`
 */
export function decodeTracerParams(params: unknown[]): { traced: unknown; tracing: Tracing } {
  if (params.length > 2) throw new DecodeError(undefined, `expected at most two params, got ${params.length}`)
  if (params.length === 0) throw new DecodeError(undefined, 'missing value for required argument 0')
  const place = new Place(undefined, 'params[1]')
  return { traced: params[0], tracing: decodeTracing(decodeConfig(params[1], TRACER_FIELDS, place), place) }
}

function decodeConfig(value: unknown, fields: readonly string[], place: Place): Record<string, unknown> {
  const config = decodeObject(value ?? {}, 'an object of options', place)
  rejectMistyped(config, fields, {}, place)
  if (config.overrides !== undefined && config.overrides !== null)
    throw new DecodeError(new Place(place, 'overrides'), "overriding the chain's rules is not supported")
  return config
}

function decodeBlock(value: unknown, txIndex: unknown, at: Place): StateParameter {
  const block = decodeStateParameter(value, new Place(undefined, 'params[1]'))
  if (txIndex === undefined) return block
  if (block.kind === 'position') throw new DecodeError(at, `cannot be combined with ${block.place}`)
  const transactionIndex = decodeIndex(txIndex, at)
  return { kind: 'position', block, transactionIndex, place: at.toString(), isOfTransaction: true }
}

function decodeTracing(config: Record<string, unknown>, place: Place): Tracing {
  const tracer = decodeTracerOf(config, place)
  const { timeout } = config
  if (timeout === undefined || timeout === null) return { tracer }
  return { tracer, timeoutMs: decodeDuration(timeout, new Place(place, 'timeout')) }
}

function decodeTracerOf(config: Record<string, unknown>, place: Place): Tracer {
  const { tracer } = config
  if (tracer !== undefined && tracer !== null) return decodeTracer(tracer, config.tracerConfig, place)
  const given = STRUCT_LOGGER_OPTIONS.filter((option) => config[option] !== undefined)
  const options = Object.fromEntries(given.map((option) => [option, config[option]]))
  return decodeTracer('structLogger', options, undefined, place)
}
