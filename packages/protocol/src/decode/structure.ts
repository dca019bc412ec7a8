import { distance } from 'fastest-levenshtein'
import { DecodeError, mismatch, Place } from './decode-error.js'
import { quote } from './quote.js'

/** A JSON object whose fields are decoded one by one. */
export type JsonObject = Record<string, unknown>

export function decodeObject(value: unknown, expected: string, place: Place | undefined): JsonObject {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw mismatch(place, expected, value)
  return value as JsonObject
}

export function decodeArray(value: unknown, expected: string, parent: Place | undefined, key: string): unknown[] {
  if (!Array.isArray(value)) throw mismatch(new Place(parent, key), expected, value)
  return value
}

export function decodeBoolean(value: unknown, parent: Place | undefined, key: string): boolean {
  if (typeof value !== 'boolean') throw mismatch(new Place(parent, key), 'true or false', value)
  return value
}

/**
 * Ignores a field as geth does, unless it looks like a typo of a known one or is named as in
 * another API: dropping it silently would change what is simulated.
 * @throws DecodeError that names the field probably meant
 */
export function rejectIfMistyped(
  name: string,
  known: readonly string[],
  aliases: Readonly<Record<string, string>>,
  place: Place | undefined,
): void {
  const meant = Object.hasOwn(aliases, name) ? aliases[name] : known.find((candidate) => isMistyped(name, candidate))
  if (meant !== undefined) throw new DecodeError(place, `unknown field ${quote(name)}; did you mean \`${meant}\`?`)
}

/** One letter different (two in long names), or two letters swapped; case is ignored. */
function isMistyped(name: string, known: string): boolean {
  if (Math.abs(name.length - known.length) > 2) return false
  const [written, meant] = [name.toLowerCase(), known.toLowerCase()]
  const far = distance(written, meant)
  const isSwapped = far === 2 && [...written].sort().join() === [...meant].sort().join()
  return isSwapped || far <= (known.length < 6 ? 1 : 2)
}

/** Rejects every unknown field. @throws DecodeError, see {@link unknownField} */
export function rejectUnknown(
  fields: object,
  known: readonly string[],
  aliases: Readonly<Record<string, string>>,
  place: Place | undefined,
): void {
  for (const name of Object.keys(fields)) if (!known.includes(name)) throw unknownField(name, known, aliases, place)
}

/** Applies {@link rejectIfMistyped} to all unknown fields. @throws DecodeError */
export function rejectMistyped(
  fields: object,
  known: readonly string[],
  aliases: Readonly<Record<string, string>>,
  place: Place | undefined,
): void {
  for (const name of Object.keys(fields)) if (!known.includes(name)) rejectIfMistyped(name, known, aliases, place)
}

/**
 * The error for an unknown field, with a similar known name if there is one. geth rejects unknown fields in overrides since 1.17.10.
 * @param aliases names that other APIs use for known fields
 */
export function unknownField(
  name: string,
  known: readonly string[],
  aliases: Readonly<Record<string, string>>,
  place: Place | undefined,
): DecodeError {
  const nearest = nearestName(name, known, aliases)
  const hint = nearest === undefined ? `known fields: ${known.join(', ')}` : `did you mean \`${nearest}\`?`
  return new DecodeError(place, `unknown field ${quote(name)}; ${hint}`)
}

function nearestName(
  name: string,
  known: readonly string[],
  aliases: Readonly<Record<string, string>>,
): string | undefined {
  if (name.length > 64) return undefined
  if (Object.hasOwn(aliases, name)) return aliases[name]
  const folded = name.toLowerCase()
  let nearest: string | undefined
  let smallest = Math.max(2, Math.floor(name.length / 3)) + 1
  for (const candidate of known) {
    const lower = candidate.toLowerCase()
    const far = lower.startsWith(folded) && folded.length >= 3 ? 1 : distance(folded, lower)
    if (far < smallest) {
      smallest = far
      nearest = candidate
    }
  }
  return nearest
}
