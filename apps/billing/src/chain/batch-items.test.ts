import type { Address, Hex } from '@upfront/protocol'
import { size } from 'viem'
import { MAX_BATCH_ITEMS } from '../environment/chain-settings.js'
import { type BatchItem, packItems, unpackItems } from './batch-items.js'
import { EXACT_PROXY, encodeSettlement, type SignedTerms, UPTO_PROXY } from './settlement-call.js'

const address = (byte: string) => `0x${byte.repeat(20)}` as Address
const ACCOUNT = address('fa')
const GAS = 150_000n
const terms: SignedTerms = {
  kind: 'upto-permit2',
  asset: address('a1'),
  maximum: 100_000n,
  nonce: 2n ** 256n - 1n,
  deadline: 1_800_000_000n,
  payer: address('b2'),
  payTo: address('c3'),
  facilitator: ACCOUNT,
  validAfter: 1_700_000_000n,
  signature: `0x${'5a'.repeat(65)}`,
  permitDeadline: null,
  permitSignature: null,
}
const itemOf = (more: Partial<SignedTerms> = {}, amount = 40n) => ({
  gas: GAS,
  to: UPTO_PROXY,
  call: encodeSettlement({ ...terms, ...more }, amount),
})

it('packs settlements, storing token and recipient only when they change', () => {
  const items = [itemOf(), itemOf({ payer: address('b3') }), itemOf({ payTo: address('c4') }), itemOf()]
  const packed = packItems(ACCOUNT, items)
  expect(unpackItems(ACCOUNT, packed)).toEqual(items)
  expect(size(packed)).toBe(4 * (5 + 92 + 65) + 3 * 40)
})

it.each<[string, BatchItem]>([
  ['with a permit', itemOf({ permitDeadline: 1_800_000_000n, permitSignature: `0x${'5a'.repeat(64)}1b` })],
  ['of another facilitator', itemOf({ facilitator: address('fb') })],
  ['with a maximum of any size', itemOf({ maximum: 2n ** 256n - 1n })],
  ['with an amount of any size', itemOf({}, 2n ** 256n - 1n)],
  ['with a deadline that never comes', itemOf({ deadline: 2n ** 256n - 1n })],
  ['that is no settlement', { gas: GAS, to: UPTO_PROXY, call: '0x12345678' }],
  ['that is empty', { gas: GAS, to: UPTO_PROXY, call: '0x' }],
  ['with more behind it', { gas: GAS, to: UPTO_PROXY, call: `${itemOf().call}00` }],
  ['to another contract', { ...itemOf(), to: EXACT_PROXY }],
  ['to a token', { gas: GAS, to: address('a1'), call: '0x12345678' }],
])('packs a call %s verbatim, and the settlements around it', (_, odd) => {
  const items = [itemOf(), odd, itemOf()]
  const packed = packItems(ACCOUNT, items)
  expect(unpackItems(ACCOUNT, packed)).toEqual(items)
  expect(size(packed)).toBe(2 * (5 + 92 + 65) + 40 + (odd.to === UPTO_PROXY ? 7 : 27) + size(odd.call))
})

it.each([0, 3, 64, 1_000])('round-trips a signature of %s bytes', (bytes) => {
  const items = [itemOf({ signature: `0x${'5a'.repeat(bytes)}` }), itemOf()]
  expect(unpackItems(ACCOUNT, packItems(ACCOUNT, items))).toEqual(items)
})

it('rejects truncated data, a missing token, an unknown kind, and too many items', () => {
  const packed = packItems(ACCOUNT, [itemOf()])
  for (let end = 4; end < packed.length; end += 2) {
    expect(() => unpackItems(ACCOUNT, packed.slice(0, end) as Hex)).toThrow(RangeError)
  }
  expect(() => unpackItems(ACCOUNT, `0x02${packed.slice(4, 12)}${packed.slice(92)}`)).toThrow(RangeError)
  expect(() => unpackItems(ACCOUNT, `0x04${packed.slice(4)}`)).toThrow(RangeError)
  const most = Array.from({ length: MAX_BATCH_ITEMS }, () => itemOf())
  expect(unpackItems(ACCOUNT, packItems(ACCOUNT, most))).toHaveLength(MAX_BATCH_ITEMS)
  expect(() => unpackItems(ACCOUNT, packItems(ACCOUNT, [...most, itemOf()]))).toThrow(RangeError)
})
