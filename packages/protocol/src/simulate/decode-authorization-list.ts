import { decodeAddress } from '../decode/bytes.js'
import { DecodeError, Place } from '../decode/decode-error.js'
import { decodeQuantity } from '../decode/quantity.js'
import { decodeArray, decodeObject, rejectMistyped } from '../decode/structure.js'
import { type Later, mapInParts } from '../parts.js'
import type { Authorization } from './simulation-request.js'

const SIGNATURE = ['yParity', 'r', 's'] as const
const FIELDS = ['chainId', 'address', 'nonce', ...SIGNATURE, 'authority'] as const
const ALIASES = { contractAddress: 'address', codeAddress: 'address', v: 'yParity' }

/** Decodes EIP-7702 authorizations. Every field is required; in an unsigned one, `authority` replaces the signature. */
export function decodeAuthorizationList(value: unknown, parent: Place, key: string, later?: Later): Authorization[] {
  const list = new Place(parent, key)
  const decodeEntry = (entry: unknown, index: number) => decodeAuthorization(entry, new Place(list, index))
  return mapInParts(decodeArray(value, 'an array of signed authorizations', parent, key), decodeEntry, later)
}

/** @throws DecodeError with the place of the error */
export function decodeAuthorization(entry: unknown, place: Place): Authorization {
  const fields = decodeObject(entry, 'a signed authorization', place)
  rejectMistyped(fields, FIELDS, ALIASES, place)
  const authority = fields.authority ?? undefined
  const signed = SIGNATURE.find((name) => (fields[name] ?? undefined) !== undefined)
  if (authority !== undefined && signed !== undefined)
    throw new DecodeError(place, `\`authority\` replaces the signature and cannot be combined with \`${signed}\``)
  const unsigned = {
    chainId: decodeQuantity(fields.chainId, 256, place, 'chainId'),
    address: decodeAddress(fields.address, place, 'address'),
    nonce: decodeQuantity(fields.nonce, 64, place, 'nonce'),
  }
  if (authority !== undefined)
    return { ...unsigned, yParity: 0n, r: 0n, s: 0n, authority: decodeAddress(authority, place, 'authority') }
  return {
    ...unsigned,
    yParity: decodeQuantity(fields.yParity, 8, place, 'yParity'),
    r: decodeQuantity(fields.r, 256, place, 'r'),
    s: decodeQuantity(fields.s, 256, place, 's'),
  }
}
