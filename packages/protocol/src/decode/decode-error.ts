import { ErrorCode, RpcError } from '../rpc-error.js'
import { quote } from './quote.js'

/** Where in a JSON document a value stands. Rendered only when something is wrong with it. */
export class Place {
  constructor(
    readonly parent: Place | undefined,
    readonly key: string | number,
  ) {}

  toString(): string {
    const parent = this.parent?.toString() ?? ''
    if (typeof this.key === 'number') return `${parent}[${this.key}]`
    if (parent === '') return this.key
    return /^[A-Za-z_]\w*$/.test(this.key) ? `${parent}.${this.key}` : `${parent}[${quote(this.key)}]`
  }
}

/** A value from outside that is not what its place asks for: -32602. The message names the place and holds at most an excerpt. */
export class DecodeError extends RpcError {
  override readonly name = 'DecodeError'
  readonly place: string

  constructor(
    place: Place | undefined,
    /** What is wrong, without the place. */
    readonly reason: string,
  ) {
    const rendered = place?.toString() ?? ''
    super(ErrorCode.invalidParams, rendered === '' ? reason : `${rendered}: ${reason}`)
    this.place = rendered
  }
}

/** `gas: expected a hex quantity, got "21000"`. */
export function mismatch(place: Place | undefined, expected: string, got: unknown): DecodeError {
  return new DecodeError(place, `expected ${expected}, got ${quote(got)}`)
}
