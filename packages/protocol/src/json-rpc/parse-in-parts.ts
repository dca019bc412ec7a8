import type { Parts } from '../parts.js'
import { appendByteKeyed, emptyByteKeyed, isByteKeyedName, isSimulation, SIMULATION } from './byte-keyed.js'
import { type JsonBounds, refuseExceeded, refusePlain } from './nesting.js'

/** Bytes of JSON parsed at a time, unless a single name is longer. */
const PART_LENGTH = 131_072
/** Most bytes of a name, a number or blanks, which can't be split. */
const MAX_PLAIN = 16_384

const QUOTE = 0x22
const COMMA = 0x2c
const BACKSLASH = 0x5c
const LETTER_U = 0x75
const OPEN_ARRAY = 0x5b
const CLOSE_ARRAY = 0x5d
const OPEN_OBJECT = 0x7b
const CLOSE_OBJECT = 0x7d

/** Characters of a string that are one byte each and need no unescaping. */
const VERBATIM = /^[ !#-[\]-~]*$/

export interface PartsOptions {
  /** Whether maps keyed by bytes become lists as in {@link parseBody}, within an `eth_simulateV1`. */
  lists: boolean
  partLength?: number
}

/**
 * Parses long UTF-8 JSON: finds commas at which a long array or object can be split, parses the pieces, and joins the
 * results. Long strings inside are split too. The text is never one string.
 * @throws SyntaxError, or RpcError -32600 if it exceeds a bound
 */
export function* parseInParts(bytes: Buffer, bounds: JsonBounds, options: PartsOptions): Parts<unknown> {
  const { lists, partLength = PART_LENGTH } = options
  const open: Container[] = []
  let values = 0
  /** End of the last bracket, comma or string. */
  let plainFrom = 0
  let yieldAt = partLength
  for (let at = 0; at < bytes.length; at += 1) {
    if (at >= yieldAt) {
      if (at - plainFrom > MAX_PLAIN) refusePlain(MAX_PLAIN)
      yieldAt = at + partLength
      yield
    }
    const inner = open.at(-1)
    switch (bytes[at]) {
      case QUOTE: {
        let end = at + 1
        for (;;) {
          const until = end + PART_LENGTH
          while (end < until && end < bytes.length && bytes[end] !== QUOTE) end += bytes[end] === BACKSLASH ? 2 : 1
          if (end >= bytes.length || bytes[end] === QUOTE) break
          yield
        }
        if (lists && end - at - 1 === SIMULATION.length && inner?.isEntry)
          inner.mayBeSimulation ||= textOf(bytes, at + 1, end) === SIMULATION
        if (end - at > partLength && inner?.expectsValue(at))
          inner.add(at, yield* stringInParts(bytes, at + 1, end, partLength), end + 1)
        else if (end - at > PART_LENGTH) refusePlain(PART_LENGTH)
        at = end
        break
      }
      case OPEN_ARRAY:
      case OPEN_OBJECT:
        if (++values > bounds.values) refuseExceeded('values', bounds)
        open.push(new Container(bytes, at, inner))
        if (open.length > bounds.depth) refuseExceeded('depth', bounds)
        break
      case COMMA:
        if (++values > bounds.values) refuseExceeded('values', bounds)
        if (inner === undefined) throw syntaxError()
        if (inner.passMember(at, partLength)) yield
        break
      case CLOSE_ARRAY:
      case CLOSE_OBJECT: {
        if (inner === undefined || inner.isArray !== (bytes[at] === CLOSE_ARRAY)) throw syntaxError()
        open.pop()
        if (!inner.isCut) break
        const value = inner.close(at)
        if (inner.hasLists && inner.isEntry && !isSimulation(value))
          return yield* parseInParts(bytes, bounds, { ...options, lists: false })
        yield
        const outer = open.at(-1)
        if (outer !== undefined) outer.add(inner.openedAt, value, at + 1)
        else if (isBlank(textOf(bytes, 0, inner.openedAt)) && isBlank(textOf(bytes, at + 1, bytes.length))) return value
        else throw syntaxError()
        break
      }
      default:
        continue
    }
    plainFrom = at
  }
  return JSON.parse(textOf(bytes, 0, bytes.length))
}

function textOf(bytes: Buffer, from: number, until: number): string {
  return bytes.toString('utf8', from, until)
}

/** Decodes the string between two quotes. */
function* stringInParts(bytes: Buffer, from: number, end: number, partLength: number): Parts<string> {
  let isVerbatim = true
  for (let at = from; at < end && isVerbatim; at += partLength) {
    isVerbatim = VERBATIM.test(bytes.toString('latin1', at, Math.min(at + partLength, end)))
    yield
  }
  // In one piece: a string joined from many pieces is copied as a whole when it is first read.
  if (isVerbatim) return bytes.toString('latin1', from, end)
  let value = ''
  for (let at = from; at < end; ) {
    const to = Math.min(endOfCharacter(bytes, at, at + partLength), end)
    value += JSON.parse(`"${textOf(bytes, at, to)}"`)
    at = to
    yield
  }
  return value
}

/** End of the escape or character that contains `at`, or `at` itself if between two. @param from not inside an escape */
function endOfCharacter(bytes: Buffer, from: number, at: number): number {
  let end = at
  for (let start = at - 1; start >= Math.max(from, at - 5); start -= 1) {
    if (bytes[start] !== BACKSLASH || isEscaped(bytes, from, start)) continue
    end = Math.max(at, start + (bytes[start + 1] === LETTER_U ? 6 : 2))
    break
  }
  // At most three bytes follow the first byte of a character.
  const most = end + 3
  while (end < most && (bytes[end] ?? 0) >> 6 === 0b10) end += 1
  return end
}

function isEscaped(bytes: Buffer, from: number, at: number): boolean {
  let before = at
  while (before > from && bytes[before - 1] === BACKSLASH) before -= 1
  return (at - before) % 2 === 1
}

/** An array or object that is not closed yet. It is split if it is long or contains something long. */
class Container {
  readonly isArray: boolean
  /** For an entry of the body: it contains the method's name. */
  mayBeSimulation = false
  /** For an entry of the body: it contains lists instead of maps. */
  hasLists = false
  #value: unknown[] | Record<string, unknown> | undefined
  #isByteKeyed = false
  /** Start of the part not parsed yet. */
  #from: number
  /** Start of the current member. */
  #memberFrom: number
  /** End of the last member, if it was added as a value. */
  #addedUntil: number | undefined
  readonly #bytes: Buffer
  readonly #outer: Container | undefined

  constructor(
    bytes: Buffer,
    readonly openedAt: number,
    outer: Container | undefined,
  ) {
    this.#bytes = bytes
    this.#outer = outer
    this.isArray = bytes[openedAt] === OPEN_ARRAY
    this.#from = openedAt + 1
    this.#memberFrom = openedAt + 1
  }

  get isCut(): boolean {
    return this.#value !== undefined
  }

  /** Whether it is the body itself or an entry of a batch. */
  get isEntry(): boolean {
    const outer = this.#outer
    return !this.isArray && (outer === undefined || (outer.isArray && outer.#outer === undefined))
  }

  /** @param at index of the comma @returns whether a part was parsed */
  passMember(at: number, partLength: number): boolean {
    const isFull = this.#addedUntil === undefined && at - this.#from >= partLength
    if (isFull) this.#parse(at)
    else if (this.#addedUntil !== undefined) this.#expectBlank(at)
    if (isFull || this.#addedUntil !== undefined) this.#from = at + 1
    this.#addedUntil = undefined
    this.#memberFrom = at + 1
    return isFull
  }

  /** Whether a value rather than a name starts here. */
  expectsValue(at: number): boolean {
    return this.isArray || !isBlank(textOf(this.#bytes, this.#memberFrom, at))
  }

  /** Adds the current member. @param from start of its value @param until end of it */
  add(from: number, value: unknown, until: number): void {
    if (this.#memberFrom > this.#from) this.#parse(this.#memberFrom - 1)
    const name = this.nameOf(from)
    this.#append(name === undefined ? [value] : [name, value])
    this.#addedUntil = until
  }

  close(at: number): unknown {
    if (this.#addedUntil === undefined) this.#parse(at)
    else this.#expectBlank(at)
    return this.#value
  }

  /** Name of the current member, whose value starts at `from`; undefined in an array. */
  nameOf(from: number): string | undefined {
    const before = textOf(this.#bytes, this.#memberFrom, from)
    if (this.isArray) {
      if (!isBlank(before)) throw syntaxError()
      return undefined
    }
    return Object.keys(JSON.parse(`{${before}null}`))[0]
  }

  #parse(until: number): void {
    const chunk = textOf(this.#bytes, this.#from, until)
    if (isBlank(chunk)) throw syntaxError()
    if (this.isArray) {
      this.#append(JSON.parse(`[${chunk}]`))
      return
    }
    this.#begin()
    const entries = `{${chunk}}`
    if (this.#isByteKeyed) appendByteKeyed(this.#value as unknown[], entries)
    else this.#append(Object.entries(JSON.parse(entries) as object).flat())
  }

  #begin(): void {
    if (this.#value !== undefined) return
    this.#isByteKeyed = !this.isArray && this.#isMapOfSimulation()
    this.#value = this.isArray ? [] : this.#isByteKeyed ? emptyByteKeyed() : {}
  }

  #isMapOfSimulation(): boolean {
    let entry: Container | undefined = this.#outer
    while (entry !== undefined && !entry.isEntry) entry = entry.#outer
    if (!entry?.mayBeSimulation || !isByteKeyedName(this.#outer?.nameOf(this.openedAt))) return false
    if (!/^\s*"0x/.test(textOf(this.#bytes, this.openedAt + 1, this.openedAt + 100))) return false
    entry.hasLists = true
    return true
  }

  /** @param members values, or names and values alternating */
  #append(members: readonly unknown[]): void {
    this.#begin()
    const value = this.#value!
    if (Array.isArray(value)) {
      for (const member of members) value.push(member)
      return
    }
    for (let at = 0; at < members.length; at += 2)
      // Like JSON.parse: assigning to `__proto__` would set the prototype.
      Object.defineProperty(value, members[at] as string, {
        value: members[at + 1],
        writable: true,
        enumerable: true,
        configurable: true,
      })
  }

  #expectBlank(until: number): void {
    if (!isBlank(textOf(this.#bytes, this.#addedUntil!, until))) throw syntaxError()
  }
}

function isBlank(text: string): boolean {
  return /^[ \t\n\r]*$/.test(text)
}

function syntaxError(): SyntaxError {
  return new SyntaxError('not valid JSON')
}
