import { DecodeError, mismatch, Place } from '../decode/decode-error.js'
import { decodeQuantity } from '../decode/quantity.js'
import { quote } from '../decode/quote.js'
import { decodeArray, decodeBoolean, decodeObject, type JsonObject, rejectIfMistyped } from '../decode/structure.js'
import { ErrorCode, RpcError } from '../rpc-error.js'

export interface CallTracerConfig {
  /** Include logs in each frame, of calls that did not fail. */
  withLog?: boolean
  onlyTopCall?: boolean
}

export interface PrestateTracerConfig {
  /** Show changes, before and after, instead of values read. */
  diffMode?: boolean
  disableCode?: boolean
  disableStorage?: boolean
  /** Also include accounts that were empty before. */
  includeEmpty?: boolean
}

export interface Erc7562TracerConfig {
  withLog?: boolean
  /** Opcodes not counted. Defaults to those that only compute. */
  ignoredOpcodes?: number[]
}

export interface FlatCallTracerConfig {
  /** Errors in OpenEthereum's words. */
  convertParityErrors?: boolean
  includePrecompiles?: boolean
}

/** geth's options of `debug_traceCall` without a tracer. */
export interface StructLoggerConfig {
  enableMemory?: boolean
  disableStack?: boolean
  disableStorage?: boolean
  enableReturnData?: boolean
  /** Bytes of steps after which the trace is cut; 0: unlimited. */
  limit?: number
}

/** A tracer by geth's name, with its options. `structLogger` is geth's default without a named tracer. */
export type Tracer =
  | { name: 'callTracer'; config: CallTracerConfig }
  | { name: 'prestateTracer'; config: PrestateTracerConfig }
  | { name: '4byteTracer' }
  | { name: 'erc7562Tracer'; config: Erc7562TracerConfig }
  | { name: 'flatCallTracer'; config: FlatCallTracerConfig }
  | { name: 'keccak256PreimageTracer' }
  | { name: 'noopTracer' }
  | { name: 'muxTracer'; tracers: SingleTracer[] }
  | { name: 'structLogger'; config: StructLoggerConfig }

/** A tracer whose output is made of records; the engine writes that of the struct logger. */
export type ShownTracer = Exclude<Tracer, { name: 'structLogger' }>
/** A tracer that can stand in a `muxTracer`. */
export type SingleTracer = Exclude<ShownTracer, { name: 'muxTracer' }>

const OPTIONS = {
  callTracer: ['withLog', 'onlyTopCall'],
  prestateTracer: ['diffMode', 'disableCode', 'disableStorage', 'includeEmpty'],
  '4byteTracer': [],
  erc7562Tracer: ['withLog', 'ignoredOpcodes', 'stackTopItemsSize'],
  flatCallTracer: ['convertParityErrors', 'includePrecompiles'],
  keccak256PreimageTracer: [],
  noopTracer: [],
  muxTracer: [],
  structLogger: ['enableMemory', 'disableStack', 'disableStorage', 'enableReturnData', 'limit'],
} as const

/** Options of `debug_traceCall` at the level of `tracer`. */
export const STRUCT_LOGGER_OPTIONS = OPTIONS.structLogger

export const TRACERS = Object.keys(OPTIONS) as Tracer['name'][]

/**
 * Decodes `tracer` and `tracerConfig` of a request.
 * @param at the place of `config`
 * @throws DecodeError with the place of the error
 */
export function decodeTracer(
  name: unknown,
  config: unknown,
  place: Place | undefined,
  at = new Place(place, 'tracerConfig'),
): Tracer {
  const known = TRACERS.find((tracer) => tracer === name)
  if (known === undefined)
    throw new DecodeError(new Place(place, 'tracer'), `expected one of ${TRACERS.join(', ')}, got ${quote(name)}`)
  const fields = config === undefined || config === null ? {} : decodeObject(config, 'an object of options', at)
  if (known === 'muxTracer')
    return { name: known, tracers: Object.keys(fields).map((each) => inside(each, fields, at)) }
  const options: Record<string, boolean | number | number[]> = {}
  for (const key of Object.keys(fields)) {
    const value = fields[key]
    if (!(OPTIONS[known] as readonly string[]).includes(key)) rejectIfMistyped(key, OPTIONS[known], {}, at)
    else if (value !== null) options[key] = decodeOption(key, value, at)
  }
  if (options.diffMode && options.includeEmpty)
    throw new RpcError(ErrorCode.serverError, 'cannot use diffMode with includeEmpty')
  return { name: known, config: options }
}

/** A tracer of a `muxTracer`, whose options are fields named as the tracers. */
function inside(name: string, fields: JsonObject, place: Place): SingleTracer {
  const tracer = TRACERS.includes(name as Tracer['name'])
    ? decodeTracer(name, fields[name], place, new Place(place, name))
    : undefined
  if (tracer === undefined || tracer.name === 'structLogger' || tracer.name === 'muxTracer')
    throw new DecodeError(place, `${quote(name)} cannot be part of a \`muxTracer\``)
  return tracer
}

function decodeOption(key: string, value: unknown, place: Place): boolean | number | number[] {
  switch (key) {
    case 'limit':
    case 'stackTopItemsSize':
      return decodeWhole(key, value, place)
    case 'ignoredOpcodes': {
      const opcodes = decodeArray(value, 'an array of opcodes', place, key)
      const at = new Place(place, key)
      if (opcodes.length > 256) throw new DecodeError(at, `expected at most 256 opcodes, got ${opcodes.length}`)
      return opcodes.map((opcode, index) => Number(decodeQuantity(opcode, 64, at, index) & 0xffn))
    }
    default:
      return decodeBoolean(value, place, key)
  }
}

function decodeWhole(key: string, value: unknown, place: Place): number {
  if (!Number.isSafeInteger(value) || (value as number) < 0)
    throw mismatch(new Place(place, key), 'a whole number', value)
  return value as number
}
