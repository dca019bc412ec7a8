import type { Parts } from '../parts.js'
import {
  appendByteKeyed,
  emptyByteKeyed,
  isByteKeyedName,
  isSimulation,
  mayBeSimulation,
  plainJson,
} from './byte-keyed.js'
import { endOfString } from './nesting.js'

/** Characters of JSON that are parsed at a time, unless one name is longer. */
const PART_LENGTH = 131_072

const QUOTE = 0x22
const COMMA = 0x2c
const BACKSLASH = 0x5c
const LETTER_U = 0x75
const OPEN_ARRAY = 0x5b
const CLOSE_ARRAY = 0x5d
const OPEN_OBJECT = 0x7b
const CLOSE_OBJECT = 0x7d

/**
 * `parseBody` of a long text: finds the commas at which a long array or object can be cut, parses what lies between, and puts it
 * together. Long strings in them are cut too. @throws SyntaxError
 */
export function* parseInParts(text: string, partLength = PART_LENGTH): Parts<unknown> {
  const open: Container[] = []
  for (let at = 0; at < text.length; at += 1) {
    const inner = open.at(-1)
    switch (text.charCodeAt(at)) {
      case QUOTE: {
        const end = endOfString(text, at + 1)
        if (end - at > partLength && inner?.expectsValue(at))
          inner.add(at, yield* stringInParts(text, at + 1, end, partLength), end + 1)
        at = end
        break
      }
      case OPEN_ARRAY:
      case OPEN_OBJECT:
        open.push(new Container(text, at, inner))
        break
      case COMMA:
        if (inner === undefined) throw wrong()
        if (inner.passMember(at, partLength)) yield
        break
      case CLOSE_ARRAY:
      case CLOSE_OBJECT: {
        if (inner === undefined || inner.isArray !== (text.charCodeAt(at) === CLOSE_ARRAY)) throw wrong()
        open.pop()
        if (!inner.isCut) break
        const value = inner.close(at)
        yield
        const outer = open.at(-1)
        if (outer !== undefined) outer.add(inner.openedAt, value, at + 1)
        else if (isBlank(text.slice(0, inner.openedAt)) && isBlank(text.slice(at + 1))) return simulationsOnly(value)
        else throw wrong()
      }
    }
  }
  return JSON.parse(text)
}

/** The string between two quotes. */
function* stringInParts(text: string, from: number, end: number, partLength: number): Parts<string> {
  let value = ''
  for (let at = from; at < end; ) {
    const to = Math.min(endOfEscape(text, at, at + partLength), end)
    value += JSON.parse(`"${text.slice(at, to)}"`)
    at = to
    yield
  }
  // Without escapes it is there already, in one piece.
  return value.length === end - from ? text.slice(from, end) : value
}

/** Where an escape ends that `at` is in the middle of; else `at`. @param from in no escape */
function endOfEscape(text: string, from: number, at: number): number {
  for (let start = at - 1; start >= Math.max(from, at - 5); start -= 1) {
    if (text.charCodeAt(start) !== BACKSLASH || isEscaped(text, from, start)) continue
    return Math.max(at, start + (text.charCodeAt(start + 1) === LETTER_U ? 6 : 2))
  }
  return at
}

function isEscaped(text: string, from: number, at: number): boolean {
  let before = at
  while (before > from && text.charCodeAt(before - 1) === BACKSLASH) before -= 1
  return (at - before) % 2 === 1
}

/** An array or object whose end is not reached yet. It is cut where it is long, or something in it is. */
class Container {
  readonly isArray: boolean
  #value: unknown[] | Record<string, unknown> | undefined
  #isByteKeyed = false
  /** Where the part begins that is not parsed yet. */
  #from: number
  /** Where the member under way begins. */
  #memberFrom: number
  /** Where a member ended that was added as a value. */
  #addedUntil: number | undefined
  readonly #text: string
  readonly #outer: Container | undefined

  constructor(
    text: string,
    readonly openedAt: number,
    outer: Container | undefined,
  ) {
    this.#text = text
    this.#outer = outer
    this.isArray = text.charCodeAt(openedAt) === OPEN_ARRAY
    this.#from = openedAt + 1
    this.#memberFrom = openedAt + 1
  }

  get isCut(): boolean {
    return this.#value !== undefined
  }

  /** @param at of the comma. Returns whether a part was parsed. */
  passMember(at: number, partLength: number): boolean {
    const isFull = this.#addedUntil === undefined && at - this.#from >= partLength
    if (isFull) this.#parse(at)
    else if (this.#addedUntil !== undefined) this.#expectBlank(at)
    if (isFull || this.#addedUntil !== undefined) this.#from = at + 1
    this.#addedUntil = undefined
    this.#memberFrom = at + 1
    return isFull
  }

  /** Whether what begins here is a value, and no name. */
  expectsValue(at: number): boolean {
    return this.isArray || !isBlank(this.#text.slice(this.#memberFrom, at))
  }

  /** Adds the member under way. @param from where its value begins in the text @param until where it ends */
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

  /** The name of the member under way, whose value begins at `from`; undefined in an array. */
  nameOf(from: number): string | undefined {
    const before = this.#text.slice(this.#memberFrom, from)
    if (this.isArray) {
      if (!isBlank(before)) throw wrong()
      return undefined
    }
    return Object.keys(JSON.parse(`{${before}null}`))[0]
  }

  #parse(until: number): void {
    const chunk = this.#text.slice(this.#from, until)
    if (isBlank(chunk)) throw wrong()
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
    const name = this.isArray ? undefined : this.#outer?.nameOf(this.openedAt)
    this.#isByteKeyed =
      mayBeSimulation(this.#text) &&
      isByteKeyedName(name) &&
      /^\s*"0x/.test(this.#text.slice(this.openedAt + 1, this.openedAt + 100))
    this.#value = this.isArray ? [] : this.#isByteKeyed ? emptyByteKeyed() : {}
  }

  /** @param members values, or names and values in turn */
  #append(members: readonly unknown[]): void {
    this.#begin()
    const value = this.#value!
    if (Array.isArray(value)) {
      for (const member of members) value.push(member)
      return
    }
    for (let at = 0; at < members.length; at += 2)
      // As JSON.parse does it: assigning to `__proto__` would do something else.
      Object.defineProperty(value, members[at] as string, {
        value: members[at + 1],
        writable: true,
        enumerable: true,
        configurable: true,
      })
  }

  #expectBlank(until: number): void {
    if (!isBlank(this.#text.slice(this.#addedUntil, until))) throw wrong()
  }
}

/** Lists stand for maps in simulations alone. */
function simulationsOnly(body: unknown): unknown {
  return Array.isArray(body) ? body.map(entry) : entry(body)
}

function entry(value: unknown): unknown {
  return isSimulation(value) ? value : plainJson(value)
}

function isBlank(text: string): boolean {
  return /^[ \t\n\r]*$/.test(text)
}

function wrong(): SyntaxError {
  return new SyntaxError('not valid JSON')
}
