import { ErrorCode, RpcError } from '../rpc-error.js'
import { quote } from './quote.js'

/** The path of a value in a JSON document. Rendered only for errors. */
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

/** An invalid input value: -32602. The message names its place and contains at most an excerpt of it. */
export class DecodeError extends RpcError {
  override readonly name = 'DecodeError'
  readonly place: string

  constructor(
    place: Place | undefined,
    /** The error without the place. */
    readonly reason: string,
  ) {
    const rendered = place?.toString() ?? ''
    super(ErrorCode.invalidParams, rendered === '' ? reason : `${rendered}: ${reason}`)
    this.place = rendered
  }
}

/** For example, `gas: expected a hex quantity, got "21000"`. */
export function mismatch(place: Place | undefined, expected: string, got: unknown): DecodeError {
  return new DecodeError(place, `expected ${expected}, got ${quote(got)}`)
}
