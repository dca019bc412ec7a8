import { RLP } from '@ethereumjs/rlp'
import { createTx } from '@ethereumjs/tx'
import type { Address } from '@upfront/protocol'
import type { PlannedCall } from '@upfront/simulation'
import { bytesOf, hexOf } from '../state/bytes.js'
import { encodeTransaction } from './transaction.js'

const TO: Address = `0x${'c1'.repeat(20)}`
const SLOT = `0x${'05'.repeat(32)}` as const
const BLOB = `0x01${'22'.repeat(31)}` as const
const call = (fields: Partial<PlannedCall>): PlannedCall => ({
  type: 2,
  from: `0x${'a1'.repeat(20)}`,
  to: TO,
  input: '0x0102',
  value: 7n,
  accessList: [],
  ...fields,
})
const fees = { maxFeePerGas: 9n, maxPriorityFeePerGas: 2n }
const accessList = [{ address: TO, storageKeys: [SLOT] }]
const authorization = { chainId: 5n, address: TO, nonce: 1n, yParity: 1n, r: 3n, s: 4n }

/** The same fields as EthereumJS writes them down, signature zero. */
function written(type: number, fields: object) {
  const common = {
    chainId: 1n,
    nonce: 3n,
    gasLimit: 21_000n,
    to: TO,
    value: 7n,
    data: bytesOf('0x0102'),
    v: 0n,
    r: 0n,
    s: 0n,
  }
  return createTx({ type, ...common, ...fields }, { freeze: false }).serialize()
}

describe('encodeTransaction', () => {
  const authorizationList = [
    { chainId: '0x05', address: TO, nonce: '0x01', yParity: '0x01', r: '0x03', s: '0x04' } as const,
  ]
  it.each([
    ['access list', call({ type: 1, gasPrice: 9n, accessList }), 1, { gasPrice: 9n, accessList }],
    ['fee market', call({ ...fees, accessList }), 2, { ...fees, accessList }],
    ['deployment', call({ ...fees, to: null }), 2, { ...fees, to: undefined }],
    ['set code', call({ type: 4, ...fees, authorizationList: [authorization] }), 4, { ...fees, authorizationList }],
  ] as const)('writes a %s transaction', (_name, planned, type, fields) => {
    const encoded = encodeTransaction({ call: planned, nonce: 3n, gas: 21_000n }, 1n)
    expect(hexOf(encoded)).toBe(hexOf(written(type, fields)))
  })

  // EthereumJS makes no legacy transaction without a signature, and no blob transaction without a KZG library.
  it.each([
    [call({ type: 0, gasPrice: 9n }), ['0x03', '0x09', '0x5208', TO, '0x07', '0x0102', '0x', '0x', '0x']],
    [
      call({ type: 3, ...fees, maxFeePerBlobGas: 8n, blobVersionedHashes: [BLOB] }),
      ['0x01', '0x03', '0x02', '0x09', '0x5208', TO, '0x07', '0x0102', [], '0x08', [BLOB], '0x', '0x', '0x'],
    ],
  ] as const)('writes type %#', (planned, fields) => {
    const encoded = encodeTransaction({ call: planned, nonce: 3n, gas: 21_000n }, 1n)
    const items = (item: unknown): unknown =>
      item instanceof Uint8Array ? hexOf(item) : (item as unknown[]).map(items)
    expect(items(RLP.decode(planned.type === 0 ? encoded : encoded.subarray(1)))).toEqual(fields)
    if (planned.type !== 0) expect(encoded[0]).toBe(planned.type)
  })
})
