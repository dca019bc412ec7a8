import type { Hex } from '@upfront/protocol'

// Values as text, one per line: numbers in hex without prefix, bytes with it, `-` for an absent value.

export function quantity(value: bigint): string {
  // Most values are zero, and formatting a bigint is a call into the runtime.
  return value === 0n ? '0\n' : `${value.toString(16)}\n`
}

export function optionalQuantity(value: bigint | undefined): string {
  return value === undefined ? '-\n' : quantity(value)
}

export function count(value: number): string {
  return value < 10 ? `${value}\n` : `${value.toString(16)}\n`
}

export function flag(value: boolean): string {
  return value ? '1\n' : '0\n'
}

/** Few lists are this long. Looking up every shorter one would take time. */
const LONG_LIST = 1_024
const written = new WeakMap<readonly unknown[], string>()

/** A list that `list` writes as this text. */
export function standInFor(text: string): readonly never[] {
  const items = Array<never>(LONG_LIST + 1)
  written.set(items, text)
  return items
}

export function list<T>(items: readonly T[], write: (item: T) => string): string {
  const before = items.length > LONG_LIST ? written.get(items) : undefined
  if (before !== undefined) return before
  let out = count(items.length)
  for (const item of items) out += write(item)
  return out
}

/** Writes an object that repeats the previous one from memory. */
export function remembering<T extends object>(write: (value: T) => string): (value: T) => string {
  let last: T | undefined
  let text = ''
  return (value) => {
    if (value !== last) text = write(value)
    last = value
    return text
  }
}

/** Reads the addon's text. */
export class TextReader {
  #at = 0

  constructor(readonly text: string) {}

  word(): string {
    const end = this.text.indexOf('\n', this.#at)
    const word = this.text.slice(this.#at, end)
    this.#at = end + 1
    return word
  }

  /** The remaining text. */
  rest(): string {
    return this.text.slice(this.#at)
  }

  /** One of a fixed set of words. */
  name<T extends string>(): T {
    return this.word() as T
  }

  hex(): Hex {
    return this.word() as Hex
  }

  bigint(): bigint {
    return BigInt(this.word())
  }

  number(): number {
    return Number(this.word())
  }

  flag(): boolean {
    return this.word() === '1'
  }

  optional<T>(read: () => T): T | undefined {
    return this.isGiven() ? read() : undefined
  }

  /** Whether a value comes next. Skips the mark of an absent one. */
  isGiven(): boolean {
    const isGiven = !this.text.startsWith('-\n', this.#at)
    if (!isGiven) this.#at += 2
    return isGiven
  }

  list<T>(read: () => T): T[] {
    const items: T[] = []
    for (let left = this.number(); left > 0; left--) items.push(read())
    return items
  }
}
