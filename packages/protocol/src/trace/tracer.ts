import { DecodeError, Place } from '../decode/decode-error.js'
import { quote } from '../decode/quote.js'
import { decodeBoolean, decodeObject, ignoreUnlessMistyped } from '../decode/structure.js'

export interface CallTracerConfig {
  /** Logs of each frame, of calls that did not fail. */
  withLog?: boolean
  onlyTopCall?: boolean
}

export interface PrestateTracerConfig {
  /** What changed, before and after, instead of what was read. */
  diffMode?: boolean
  disableCode?: boolean
  disableStorage?: boolean
  /** Accounts too that were empty before. */
  includeEmpty?: boolean
}

/** A tracer by geth's name, and its options. */
export type Tracer =
  | { name: 'callTracer'; config: CallTracerConfig }
  | { name: 'prestateTracer'; config: PrestateTracerConfig }
  | { name: '4byteTracer' }

const OPTIONS = {
  callTracer: ['withLog', 'onlyTopCall'],
  prestateTracer: ['diffMode', 'disableCode', 'disableStorage', 'includeEmpty'],
  '4byteTracer': [],
} as const

export const TRACERS = Object.keys(OPTIONS) as Tracer['name'][]

/**
 * `tracer` and `tracerConfig` of a request.
 * @throws DecodeError with the place of what is wrong
 */
export function decodeTracer(name: unknown, config: unknown, place: Place | undefined): Tracer {
  const known = TRACERS.find((tracer) => tracer === name)
  if (known === undefined) {
    throw new DecodeError(new Place(place, 'tracer'), `expected one of ${TRACERS.join(', ')}, got ${quote(name)}`)
  }
  const at = new Place(place, 'tracerConfig')
  const fields = config === undefined || config === null ? {} : decodeObject(config, 'an object of options', at)
  const options: Record<string, boolean> = {}
  for (const key of Object.keys(fields)) {
    const value = fields[key]
    if (!(OPTIONS[known] as readonly string[]).includes(key)) ignoreUnlessMistyped(key, OPTIONS[known], {}, at)
    else if (value !== null) options[key] = decodeBoolean(value, at, key)
  }
  if (options.diffMode && options.includeEmpty)
    throw new DecodeError(new Place(at, 'includeEmpty'), 'can not stand beside `diffMode`')
  return known === '4byteTracer' ? { name: known } : { name: known, config: options }
}
