import { mismatch, Place } from './decode-error.js'

const QUANTITY = /^0x(?:0|[1-9a-f][0-9a-f]*)$/i
const LEADING_ZEROS = /^0x0[0-9a-f]+$/i

/** An unsigned integer in hex, by geth's rules: `0x` prefix, no leading zeros, at most `bits` bits. */
export function decodeQuantity(
  value: unknown,
  bits: 8 | 64 | 256,
  parent: Place | undefined,
  key: string | number,
): bigint {
  if (typeof value !== 'string') throw mismatch(new Place(parent, key), 'a hex quantity', value)
  if (value.length > 2 + bits / 4) {
    const zeros = LEADING_ZEROS.test(value.slice(0, 80))
    throw mismatch(
      new Place(parent, key),
      zeros ? 'a hex quantity without leading zeros' : `a hex quantity of at most ${bits} bits`,
      value,
    )
  }
  if (!QUANTITY.test(value)) {
    const expected = LEADING_ZEROS.test(value) ? 'a hex quantity without leading zeros' : 'a hex quantity'
    throw mismatch(new Place(parent, key), expected, value)
  }
  return BigInt(value)
}
