import { decodeAddress } from '../decode/bytes.js'
import { Place } from '../decode/decode-error.js'
import { decodeQuantity } from '../decode/quantity.js'
import { decodeArray, decodeObject, ignoreUnlessMistyped } from '../decode/structure.js'
import { type Later, mapped } from '../parts.js'
import type { Authorization } from './simulation-request.js'

const FIELDS = ['chainId', 'address', 'nonce', 'yParity', 'r', 's'] as const
const ALIASES = { contractAddress: 'address', codeAddress: 'address', v: 'yParity' }

/** EIP-7702, signed: every field is required. */
export function decodeAuthorizationList(value: unknown, parent: Place, key: string, later?: Later): Authorization[] {
  const list = new Place(parent, key)
  const decodeEntry = (entry: unknown, index: number): Authorization => {
    const place = new Place(list, index)
    const fields = decodeObject(entry, 'a signed authorization', place)
    for (const name of Object.keys(fields)) {
      if (!FIELDS.includes(name as (typeof FIELDS)[number])) ignoreUnlessMistyped(name, FIELDS, ALIASES, place)
    }
    return {
      chainId: decodeQuantity(fields.chainId, 256, place, 'chainId'),
      address: decodeAddress(fields.address, place, 'address'),
      nonce: decodeQuantity(fields.nonce, 64, place, 'nonce'),
      yParity: decodeQuantity(fields.yParity, 8, place, 'yParity'),
      r: decodeQuantity(fields.r, 256, place, 'r'),
      s: decodeQuantity(fields.s, 256, place, 's'),
    }
  }
  return mapped(decodeArray(value, 'an array of signed authorizations', parent, key), decodeEntry, later)
}
