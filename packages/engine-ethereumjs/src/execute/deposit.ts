import { CallRejected } from './call-rejected.js'

const EVENT_BYTES = 576
/** Offset and length in the event's data: public key, withdrawal credentials, amount, signature, index (EIP-6110). */
const FIELDS: readonly (readonly [offset: number, length: number])[] = [
  [192, 48],
  [288, 32],
  [352, 8],
  [416, 96],
  [544, 8],
]

/** The 192 bytes of a deposit request, from the data of the deposit contract's event. */
export function parseDeposit(data: Uint8Array): Uint8Array {
  if (data.length !== EVENT_BYTES) {
    throw new CallRejected({ kind: 'depositLength', length: data.length })
  }
  return Buffer.concat(FIELDS.map(([offset, length]) => data.subarray(offset, offset + length)))
}
