import { decodeBytes, decodeFixedBytes, decodeQuantity, decodeWord } from './decode-result.js'
import { UpstreamFault } from './upstream-fault.js'

describe('decoding values from a node', () => {
  it('accepts the forms that nodes write', () => {
    expect(decodeQuantity('0x0')).toBe(0n)
    expect(decodeQuantity('0x00ff')).toBe(255n)
    expect(decodeBytes('0xABcd')).toBe('0xabcd')
    expect(decodeWord('0x1')).toBe(`0x${'1'.padStart(64, '0')}`)
    expect(decodeWord('0x')).toBe(`0x${'0'.repeat(64)}`)
  })

  it.each([null, undefined, '', '0x', '0xg', '12', 12, {}, [], '0x-1', ` 0x1`, '0x1\n'])(
    'rejects %j as a quantity',
    (value) => {
      expect(() => decodeQuantity(value)).toThrow(UpstreamFault)
    },
  )

  it('rejects values of a wrong width', () => {
    expect(() => decodeQuantity(`0x1${'0'.repeat(64)}`)).toThrow(UpstreamFault)
    expect(() => decodeQuantity('0x10000000000000000', 64)).toThrow(UpstreamFault)
    expect(() => decodeWord(`0x1${'0'.repeat(64)}`)).toThrow(UpstreamFault)
    expect(() => decodeFixedBytes('0x00', 2)).toThrow(UpstreamFault)
    expect(() => decodeBytes('0x0')).toThrow(UpstreamFault)
  })

  it('distinguishes null from malformed values', () => {
    expect(() => decodeWord(null)).toThrow(expect.objectContaining({ kind: 'null' }))
    expect(() => decodeWord(7)).toThrow(expect.objectContaining({ kind: 'malformed' }))
  })
})
