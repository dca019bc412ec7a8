import { decodeBlockParameter } from '../block-parameter.js'
import type { CallRequest } from '../call/call-request.js'
import { DecodeError, mismatch, Place } from '../decode/decode-error.js'
import { decodeObject, ignoreUnlessMistyped } from '../decode/structure.js'
import { ErrorCode, RpcError } from '../rpc-error.js'
import { decodeBlockOverrides } from '../simulate/decode-block-overrides.js'
import { decodeCall } from '../simulate/decode-call.js'
import { decodeStateOverrides } from '../simulate/decode-state-overrides.js'
import { decodeTracer, STRUCT_LOGGER_OPTIONS, type Tracer } from './tracer.js'

/** The decoded `params` of `debug_traceCall`. */
export interface TraceCallRequest extends CallRequest {
  tracer: Tracer
}

const FIELDS = [
  'tracer',
  'tracerConfig',
  'timeout',
  'reexec',
  'stateOverrides',
  'blockOverrides',
  'txIndex',
  'overrides',
  ...STRUCT_LOGGER_OPTIONS,
] as const

/**
 * The `params` of `debug_traceCall`: `[call, block, { tracer, tracerConfig, stateOverrides, blockOverrides }]`; the block is
 * `latest` where none is given. `timeout` and `reexec` are ignored: the server's own limits hold. Without a tracer it is the struct logger, whose
 * options stand beside `tracer`, as in geth.
 * @throws RpcError -32602 with the place of what is wrong
 */
export function decodeTraceCallRequest(params: unknown): TraceCallRequest {
  try {
    if (!Array.isArray(params)) throw mismatch(undefined, 'params to be [call, block, config]', params)
    if (params.length > 3) throw new DecodeError(undefined, `expected at most three params, got ${params.length}`)
    const place = new Place(undefined, 'params[2]')
    const config = decodeObject(params[2] ?? {}, 'an object of options', place)
    for (const key of Object.keys(config)) {
      if (!(FIELDS as readonly string[]).includes(key)) ignoreUnlessMistyped(key, FIELDS, {}, place)
    }
    const { stateOverrides, blockOverrides, txIndex, overrides } = config
    if (overrides !== undefined && overrides !== null)
      throw new DecodeError(new Place(place, 'overrides'), "the chain's own rules hold: expected none")
    if (txIndex !== undefined && txIndex !== null)
      throw new DecodeError(new Place(place, 'txIndex'), 'calls run after all transactions of the block')
    return {
      call: decodeCall(params[0], new Place(undefined, 'params[0]')),
      block: decodeBlockParameter(params[1] ?? 'latest', new Place(undefined, 'params[1]')),
      tracer: decodeNamed(config, place),
      stateOverrides:
        stateOverrides == null ? [] : decodeStateOverrides(stateOverrides, new Place(place, 'stateOverrides')),
      blockOverrides:
        blockOverrides == null ? {} : decodeBlockOverrides(blockOverrides, new Place(place, 'blockOverrides')),
    }
  } catch (error) {
    if (error instanceof DecodeError) throw new RpcError(ErrorCode.invalidParams, error.message)
    throw error
  }
}

function decodeNamed(config: Record<string, unknown>, place: Place): Tracer {
  const { tracer } = config
  if (tracer !== undefined && tracer !== null) return decodeTracer(tracer, config.tracerConfig, place)
  const given = STRUCT_LOGGER_OPTIONS.filter((option) => config[option] !== undefined)
  const options = Object.fromEntries(given.map((option) => [option, config[option]]))
  return decodeTracer('structLogger', options, undefined, place)
}
