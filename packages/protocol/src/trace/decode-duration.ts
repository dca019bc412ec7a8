import { mismatch, type Place } from '../decode/decode-error.js'
import { quote } from '../decode/quote.js'
import { ErrorCode, RpcError } from '../rpc-error.js'

/** Units of Go's durations, in nanoseconds. */
const UNITS: Readonly<Record<string, number>> = {
  ...{ ns: 1, us: 1e3, '\u00b5s': 1e3, '\u03bcs': 1e3 },
  ...{ ms: 1e6, s: 1e9, m: 60e9, h: 3_600e9 },
}
/** Go counts nanoseconds in 64 bits. */
const MAX_NANOSECONDS = 2 ** 63
const MAX_LENGTH = 256

/**
 * A duration as Go writes it, such as `5s` or `1m30.5s`, in milliseconds.
 * @throws RpcError -32000 with the message of Go's `time.ParseDuration`, as geth does; DecodeError if it is no string
 */
export function decodeDuration(value: unknown, place: Place): number {
  if (typeof value !== 'string') throw mismatch(place, 'a duration such as "5s"', value)
  const read = nanosecondsOf(value)
  if (typeof read === 'string') throw new RpcError(ErrorCode.serverError, `time: ${read} ${quote(value)}`)
  return read / 1e6
}

/** Nanoseconds, or what is wrong. */
function nanosecondsOf(text: string): number | string {
  const invalid = 'invalid duration'
  let rest = text.replace(/^[-+]/, '')
  if (rest === '0') return 0
  if (rest === '' || rest.length > MAX_LENGTH) return invalid
  let total = 0
  while (rest !== '') {
    const [part, number, name] = /^([0-9]*\.?[0-9]*)([^0-9.]*)/.exec(rest) as unknown as [string, string, string]
    if (!/[0-9]/.test(number)) return invalid
    if (name === '') return 'missing unit in duration'
    const unit = Object.hasOwn(UNITS, name) ? UNITS[name]! : undefined
    if (unit === undefined) return `unknown unit ${quote(name)} in duration`
    total += Number(number) * unit
    rest = rest.slice(part.length)
  }
  if (total >= MAX_NANOSECONDS) return invalid
  return text.startsWith('-') ? -total : total
}
