import { decodeAddress, decodeBytes32, decodeBytesLater } from '../decode/bytes.js'
import { DecodeError, Place } from '../decode/decode-error.js'
import { decodeQuantity } from '../decode/quantity.js'
import { decodeArray, decodeObject, rejectIfMistyped } from '../decode/structure.js'
import { type Later, mapInParts } from '../parts.js'
import { decodeAccessList } from './decode-access-list.js'
import { decodeAuthorizationList } from './decode-authorization-list.js'
import type { Call } from './simulation-request.js'

const FIELDS = [
  'from',
  'to',
  'gas',
  'value',
  'nonce',
  'input',
  'data',
  'gasPrice',
  'maxFeePerGas',
  'maxPriorityFeePerGas',
  'maxFeePerBlobGas',
  'accessList',
  'blobVersionedHashes',
  'authorizationList',
  'chainId',
] as const

const ALIASES = {
  gasLimit: 'gas',
  calldata: 'input',
  callData: 'input',
  sender: 'from',
  recipient: 'to',
  amount: 'value',
  authorizations: 'authorizationList',
  blobHashes: 'blobVersionedHashes',
  maxFeePerDataGas: 'maxFeePerBlobGas',
  overrides: 'stateOverrides` (of the block)',
}

const SIDECAR = ['blobs', 'commitments', 'proofs']

/**
 * Decodes execution-apis' GenericTransaction. `type` is ignored: like geth, the planner derives the type from the
 * fields present. If `data` and `input` differ, `input` counts, as in geth.
 * @param later receives the decoding of long lists and bytes
 */
export function decodeCall(value: unknown, place: Place, later?: Later): Call {
  const fields = decodeObject(value, 'a call object', place)
  const call: Call = {}
  for (const key of Object.keys(fields)) {
    const field = fields[key]
    if (field === null && (FIELDS.includes(key as (typeof FIELDS)[number]) || SIDECAR.includes(key))) continue
    switch (key) {
      case 'from':
        call.from = decodeAddress(field, place, key)
        break
      case 'to':
        call.to = decodeAddress(field, place, key)
        break
      case 'gas':
        call.gas = decodeQuantity(field, 64, place, key)
        break
      case 'value':
        call.value = decodeQuantity(field, 256, place, key)
        break
      case 'nonce':
        call.nonce = decodeQuantity(field, 64, place, key)
        break
      case 'input':
        decodeBytesLater(field, place, key, later, (bytes) => {
          call.input = bytes
        })
        break
      case 'data':
        decodeBytesLater(field, place, key, later, (bytes) => {
          call.input ??= bytes
        })
        break
      case 'gasPrice':
      case 'maxFeePerGas':
      case 'maxPriorityFeePerGas':
      case 'maxFeePerBlobGas':
      case 'chainId':
        call[key] = decodeQuantity(field, 256, place, key)
        break
      case 'accessList':
        call.accessList = decodeAccessList(field, place, key, later)
        break
      case 'blobVersionedHashes': {
        const hashes = new Place(place, key)
        const given = decodeArray(field, 'an array of versioned hashes', place, key)
        call.blobVersionedHashes = mapInParts(given, (hash, i) => decodeBytes32(hash, hashes, i), later)
        break
      }
      case 'authorizationList':
        call.authorizationList = decodeAuthorizationList(field, place, key, later)
        break
      case 'type':
        break
      case 'blobs':
      case 'commitments':
      case 'proofs':
        throw new DecodeError(
          new Place(place, key),
          'blob sidecars are not simulated: set `blobVersionedHashes` instead',
        )
      default:
        rejectIfMistyped(key, FIELDS, ALIASES, place)
    }
  }
  return call
}
