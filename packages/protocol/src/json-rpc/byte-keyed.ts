import { PART_ENTRIES } from '../parts.js'

/**
 * Reads maps keyed by address or slot without making objects of them. V8 makes a hidden class for each new key and keeps it until the next
 * full garbage collection, which makes overrides slow. So the text of such a map is rewritten as a list before it is parsed.
 */

/** First item of such a list, which clients can't guess. */
const MARK = crypto.randomUUID()

/** Members of a simulation that may be maps keyed by bytes. */
const NAMES = ['"stateDiff":', '"stateOverrides":', '"state":', '"storage":']
/** The method whose maps are rewritten as lists. */
export const SIMULATION = 'eth_simulateV1'

const QUOTE = 0x22
const COMMA = 0x2c
const COLON = 0x3a
const OPEN_ARRAY = 0x5b
const CLOSE_ARRAY = 0x5d
const OPEN_OBJECT = 0x7b
const CLOSE_OBJECT = 0x7d

/** `JSON.parse`, except that overrides of a single `eth_simulateV1` become lists for {@link byteKeyed}. @throws SyntaxError */
export function parseBody(text: string): unknown {
  if (text.includes(`"method":"${SIMULATION}"`)) {
    const lists = rewriteMapsAsLists(text)
    const body = lists === undefined ? undefined : tryParse(lists)
    if (body?.method === SIMULATION) return body
  }
  return JSON.parse(text)
}

export function isSimulation(entry: unknown): boolean {
  return (entry as { method?: unknown } | null)?.method === SIMULATION
}

/** Whether a member with this name may be a map keyed by bytes. */
export function isByteKeyedName(name: string | undefined): boolean {
  return name !== undefined && NAMES.includes(`"${name}":`)
}

/** An empty list for {@link appendByteKeyed}, readable by {@link byteKeyed}. */
export function emptyByteKeyed(): unknown[] {
  return [MARK]
}

/** Adds the entries of a JSON object. @throws SyntaxError */
export function appendByteKeyed(map: unknown[], json: string): void {
  const lists = rewriteMapsAsLists(`${NAMES[0]}${json}`)
  const list = lists === undefined ? undefined : tryParse(`{${lists}}`)
  const entries = (list as { stateDiff?: unknown[] } | undefined)?.stateDiff
  if (Array.isArray(entries)) for (let at = 1; at < entries.length; at += 1) map.push(entries[at])
  else for (const entry of Object.entries(JSON.parse(json))) map.push(...entry)
}

/** Keys and values alternating from index 1 on, if `value` is a map too long for one part. */
export function longByteKeyed(value: unknown): readonly unknown[] | undefined {
  return Array.isArray(value) && value.length > 2 * PART_ENTRIES && value[0] === MARK ? value : undefined
}

/** The entries of a value that is an object in the client's JSON; undefined for any other value. */
export function byteKeyed(value: unknown): ReadonlyMap<string, unknown> | undefined {
  if (typeof value !== 'object' || value === null) return undefined
  if (!Array.isArray(value)) return new Map(Object.entries(value))
  if (value[0] !== MARK) return undefined
  const entries = new Map<string, unknown>()
  for (let index = 1; index < value.length; index += 2) entries.set(value[index], value[index + 1])
  return entries
}

/** The value as `JSON.parse` returns it: with objects instead of the lists of {@link parseBody}. */
export function plainJson(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) {
    if (value[0] !== MARK) return value.map(plainJson)
    return Object.fromEntries([...byteKeyed(value)!].map(([name, field]) => [name, plainJson(field)]))
  }
  return Object.fromEntries(Object.entries(value).map(([name, field]) => [name, plainJson(field)]))
}

function tryParse(text: string): { method?: unknown } | undefined {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/**
 * The text with those maps as lists of the mark, keys and values. Undefined if there are none, if the text is not formatted as by
 * `JSON.stringify`, or if such a map is malformed: otherwise the list could be valid although the map was not.
 */
function rewriteMapsAsLists(text: string): string | undefined {
  if (text.includes('\\')) return undefined
  let lists = ''
  let copied = 0
  /** For each open bracket, whether it opens such a map. */
  const open: boolean[] = []
  let isInMap = false
  let isAtKey = false
  for (let at = 0; at < text.length; at += 1) {
    switch (text.charCodeAt(at)) {
      case QUOTE: {
        at = text.indexOf('"', at + 1)
        if (at < 0) return undefined
        if (!isAtKey) break
        if (text.charCodeAt(at + 1) !== COLON) return undefined
        lists += `${text.slice(copied, at + 1)},`
        at += 1
        copied = at + 1
        isAtKey = false
        break
      }
      case OPEN_OBJECT:
        isInMap = isMap(text, at)
        open.push(isInMap)
        if (!isInMap) break
        lists += `${text.slice(copied, at)}["${MARK}",`
        copied = at + 1
        isAtKey = true
        break
      case OPEN_ARRAY:
        isInMap = false
        open.push(false)
        break
      case CLOSE_OBJECT:
      case CLOSE_ARRAY:
        if (isInMap) {
          if (text.charCodeAt(at) === CLOSE_ARRAY) return undefined
          lists += `${text.slice(copied, at)}]`
          copied = at + 1
        }
        open.pop()
        isInMap = open.at(-1) === true
        break
      case COMMA:
        if (!isInMap) break
        if (text.charCodeAt(at + 1) !== QUOTE) return undefined
        isAtKey = true
        break
      case COLON:
        if (isInMap) return undefined
    }
  }
  return copied === 0 || open.length > 0 ? undefined : lists + text.slice(copied)
}

function isMap(text: string, at: number): boolean {
  return text.startsWith('{"0x', at) && NAMES.some((name) => text.endsWith(name, at))
}
