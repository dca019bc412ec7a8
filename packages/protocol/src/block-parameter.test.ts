import fc from 'fast-check'
import { BLOCK_TAGS, type BlockParameter, decodeBlockParameter } from './block-parameter.js'
import { DecodeError, Place } from './decode/decode-error.js'
import { type Hash, toQuantity } from './hex.js'

const place = new Place(undefined, 'params[1]')
const hash: Hash = `0x${'ab'.repeat(32)}`

describe('decodeBlockParameter', () => {
  it.each<[unknown, BlockParameter]>([
    ['latest', { kind: 'tag', tag: 'latest' }],
    ['pending', { kind: 'tag', tag: 'pending' }],
    ['0x0', { kind: 'number', number: 0n }],
    ['0x7fffffffffffffff', { kind: 'number', number: 2n ** 63n - 1n }],
    [hash.toUpperCase().replace('0X', '0x'), { kind: 'hash', hash, requireCanonical: false }],
    [
      { blockHash: hash, requireCanonical: true },
      { kind: 'hash', hash, requireCanonical: true },
    ],
    [
      { blockHash: hash, blockNumber: null },
      { kind: 'hash', hash, requireCanonical: false },
    ],
    [{ blockNumber: '0x10' }, { kind: 'number', number: 16n }],
    [{ blockNumber: 'safe' }, { kind: 'tag', tag: 'safe' }],
  ])('decodes %j', (value, expected) => {
    expect(decodeBlockParameter(value, place)).toEqual(expected)
  })

  it.each([
    [undefined, 'expected a block tag, number, hash or EIP-1898 object, got nothing'],
    [7, 'expected a block tag, number, hash or EIP-1898 object, got 7'],
    [
      'newest',
      'expected a block number in hex, a hash, or one of latest, pending, safe, finalized, earliest, got "newest"',
    ],
    ['0x01', 'expected a hex quantity without leading zeros, got "0x01"'],
    ['0x8000000000000000', 'expected a block number below 2^63, got "0x8000000000000000"'],
    [{}, 'expected exactly one of `blockNumber` and `blockHash`'],
    [{ blockHash: hash, blockNumber: '0x1' }, 'expected exactly one of `blockNumber` and `blockHash`'],
    [[hash], 'expected an EIP-1898 object, got an array'],
    [{ hash }, 'unknown field "hash"; did you mean `blockHash`?'],
  ])('rejects %j', (value, message) => {
    expect(() => decodeBlockParameter(value, place)).toThrow(new DecodeError(place, message))
  })

  it('decodes every tag, number and hash', () => {
    const written = fc.oneof(
      fc.constantFrom(...BLOCK_TAGS).map((tag) => [tag, { kind: 'tag', tag }]),
      fc.bigInt(0n, 2n ** 63n - 1n).map((number) => [toQuantity(number), { kind: 'number', number }]),
      fc.boolean().map((requireCanonical) => [
        { blockHash: hash, requireCanonical },
        { kind: 'hash', hash, requireCanonical },
      ]),
    ) as fc.Arbitrary<[unknown, BlockParameter]>
    fc.assert(
      fc.property(written, ([value, parameter]) => {
        expect(decodeBlockParameter(value, place)).toEqual(parameter)
      }),
    )
  })
})
