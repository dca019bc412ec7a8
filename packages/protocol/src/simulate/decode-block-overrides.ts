import { decodeAddress, decodeBytes32 } from '../decode/bytes.js'
import { DecodeError, Place } from '../decode/decode-error.js'
import { decodeQuantity } from '../decode/quantity.js'
import { decodeArray, decodeObject, rejectUnknown, unknownField } from '../decode/structure.js'
import type { BlockOverrides, Withdrawal } from './simulation-request.js'

const FIELDS = [
  'number',
  'time',
  'timestamp',
  'gasLimit',
  'feeRecipient',
  'prevRandao',
  'baseFeePerGas',
  'blobBaseFee',
  'beaconRoot',
  'withdrawals',
  'difficulty',
] as const

const ALIASES = {
  blockNumber: 'number',
  coinbase: 'feeRecipient',
  miner: 'feeRecipient',
  random: 'prevRandao',
  mixHash: 'prevRandao',
  baseFee: 'baseFeePerGas',
  parentBeaconBlockRoot: 'beaconRoot',
  parentBeaconRoot: 'beaconRoot',
}

const WITHDRAWAL_FIELDS = ['index', 'validatorIndex', 'address', 'amount'] as const
const WITHDRAWAL_ALIASES = { validator: 'validatorIndex', recipient: 'address' }

/** `timestamp` is an alias of `time`. `difficulty` is checked but has no effect, as in geth on every block after the Merge. */
export function decodeBlockOverrides(value: unknown, place: Place): BlockOverrides {
  const fields = decodeObject(value, 'an object of block overrides', place)
  const overrides: BlockOverrides = {}
  for (const key of Object.keys(fields)) {
    const field = fields[key]
    if (field === null && FIELDS.includes(key as (typeof FIELDS)[number])) continue
    switch (key) {
      case 'number':
      case 'baseFeePerGas':
      case 'blobBaseFee':
        overrides[key] = decodeQuantity(field, 256, place, key)
        break
      case 'time':
      case 'timestamp': {
        const time = decodeQuantity(field, 64, place, key)
        if (overrides.timestamp !== undefined && overrides.timestamp !== time)
          throw new DecodeError(place, '`time` and `timestamp` are both given and not equal')
        overrides.timestamp = time
        break
      }
      case 'gasLimit':
        overrides.gasLimit = decodeQuantity(field, 64, place, key)
        break
      case 'feeRecipient':
        overrides.feeRecipient = decodeAddress(field, place, key)
        break
      case 'prevRandao':
      case 'beaconRoot':
        overrides[key] = decodeBytes32(field, place, key)
        break
      case 'withdrawals':
        overrides.withdrawals = decodeWithdrawals(field, place, key)
        break
      case 'difficulty':
        decodeQuantity(field, 256, place, key)
        break
      default:
        throw unknownField(key, FIELDS, ALIASES, place)
    }
  }
  return overrides
}

function decodeWithdrawals(value: unknown, parent: Place, key: string): Withdrawal[] {
  const list = new Place(parent, key)
  return decodeArray(value, 'an array of withdrawals', parent, key).map((entry, position) => {
    const place = new Place(list, position)
    const fields = decodeObject(entry, 'a withdrawal', place)
    rejectUnknown(fields, WITHDRAWAL_FIELDS, WITHDRAWAL_ALIASES, place)
    return {
      index: decodeQuantity(fields.index, 64, place, 'index'),
      validatorIndex: decodeQuantity(fields.validatorIndex, 64, place, 'validatorIndex'),
      address: decodeAddress(fields.address, place, 'address'),
      amount: decodeQuantity(fields.amount, 64, place, 'amount'),
    }
  })
}
