import { ErrorCode, type Hex, type Parts, RpcError } from '@upfront/protocol'
import { type AbiField, type AbiType, isDynamicType } from './abi-type.js'

/** A named function, error or event with its arguments as JSON: integers as decimal strings, bytes as hex. */
export interface Decoded {
  name: string
  /** By name, or by position for an unnamed argument. */
  args: Record<string, unknown>
  /** Explanation of a panic or a well-known error. */
  meaning?: string
  /** Decimals of the token that an error's amounts are in. `meaning` uses them; `args` are in the smallest unit. */
  decimals?: number
  /** For a built-in signature, such as `transfer(address to, uint256 value)`. */
  signature?: string
  /** Its source: a standard, or a contract and its publisher. */
  from?: string
  /** Other signatures with the same selector or topic that match too. */
  or?: string[]
}

const WORD = 64
/** Cost of a value in addition to its characters. */
const VALUE_BYTES = 16
/** Approximate amount decoded per turn of the event loop. */
const PART_BYTES = 64 * 1024

/** Limits what one request may decode. Each value, list and name costs its characters. */
export class DecodingBudget {
  #left: number
  #leftOfPart = PART_BYTES
  readonly #bytes: number

  constructor(bytes: number) {
    this.#bytes = bytes
    this.#left = bytes
  }

  /** @throws RpcError -32005 */
  take(characters: number): void {
    const bytes = VALUE_BYTES + characters
    this.#left -= bytes
    this.#leftOfPart -= bytes
    if (this.#left < 0)
      throw new RpcError(ErrorCode.limitExceeded, `abi: the decoded values are longer than ${this.#bytes} bytes`)
  }

  /** True from time to time: the caller should then yield the event loop. */
  get isPartDone(): boolean {
    if (this.#leftOfPart > 0) return false
    this.#leftOfPart = PART_BYTES
    return true
  }
}

/**
 * Decodes ABI-encoded parameters to JSON: integers as decimal strings, bytes as hex, tuples by name.
 * @throws RangeError if the data does not match; RpcError -32005 if the budget is exceeded
 */
export function decodeParameters(
  fields: readonly AbiField[],
  data: Hex,
  budget: DecodingBudget,
): Parts<Record<string, unknown>> {
  return new AbiData(data.slice(2), budget).fields(fields, 0)
}

/** Positions count hex digits. */
class AbiData {
  readonly #digits: string
  readonly #budget: DecodingBudget

  constructor(digits: string, budget: DecodingBudget) {
    this.#digits = digits
    this.#budget = budget
  }

  *fields(fields: readonly AbiField[], start: number): Parts<Record<string, unknown>> {
    const values: [string, unknown][] = []
    const place = { start, at: start }
    for (const { name, type } of fields) {
      this.#budget.take(name.length)
      values.push([name, yield* this.#value(type, place)])
    }
    return Object.fromEntries(values)
  }

  *#items(item: AbiType, length: number, start: number): Parts<unknown[]> {
    const values: unknown[] = []
    const place = { start, at: start }
    while (values.length < length) {
      values.push(item.kind === 'word' ? this.#readWord(item, place) : yield* this.#value(item, place))
      if (this.#budget.isPartDone) yield
    }
    return values
  }

  /** Reads the value at `place.at` and advances it. Offsets are relative to `place.start`. */
  *#value(type: AbiType, place: { start: number; at: number }): Parts<unknown> {
    if (type.kind === 'word') return this.#readWord(type, place)
    if (!isDynamicType(type)) {
      // A static composite is encoded in place.
      const value = yield* this.#composite(type, place.at)
      place.at += WORD * wordsOf(type)
      return value
    }
    const start = place.start + 2 * this.#length(place.at)
    place.at += WORD
    return yield* this.#composite(type, start)
  }

  *#composite(type: Exclude<AbiType, { kind: 'word' }>, start: number): Parts<unknown> {
    switch (type.kind) {
      case 'tuple':
        this.#budget.take(0)
        return yield* this.fields(type.fields, start)
      case 'array':
        this.#budget.take(0)
        return type.length === undefined
          ? yield* this.#items(type.item, this.#length(start), start + WORD)
          : yield* this.#items(type.item, type.length, start)
      default: {
        const digits = this.#digits
        const first = start + WORD
        const end = first + 2 * this.#length(start)
        if (end > digits.length) throw new RangeError('longer than the data')
        this.#budget.take(end - first)
        const text = digits.slice(first, end)
        return type.kind === 'bytes' ? `0x${text}` : Buffer.from(text, 'hex').toString()
      }
    }
  }

  #readWord({ read }: Extract<AbiType, { kind: 'word' }>, place: { at: number }): string | boolean {
    const value = read(this.#word(place.at))
    this.#budget.take(typeof value === 'string' ? value.length : 0)
    place.at += WORD
    return value
  }

  #word(at: number): string {
    if (at + WORD > this.#digits.length) throw new RangeError('beyond the data')
    return this.#digits.slice(at, at + WORD)
  }

  /** A word that is a length or an offset. */
  #length(at: number): number {
    const word = this.#word(at)
    // No data is longer than 2^32 bytes.
    if (!word.startsWith('0'.repeat(WORD - 8))) throw new RangeError('beyond the data')
    return Number.parseInt(word.slice(-8), 16)
  }
}

/** Words in the head of a static type. */
function wordsOf(type: AbiType): number {
  switch (type.kind) {
    case 'tuple':
      return type.fields.reduce((words, field) => words + wordsOf(field.type), 0)
    case 'array':
      return (type.length ?? 0) * wordsOf(type.item)
    default:
      return 1
  }
}
