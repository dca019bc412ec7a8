import { decimalsIn, symbolIn } from './questions.js'

const word = (value: bigint) => value.toString(16).padStart(64, '0')
const text = (symbol: string) => {
  const bytes = Buffer.from(symbol).toString('hex')
  return `0x${word(32n)}${word(BigInt(bytes.length / 2))}${bytes.padEnd(Math.ceil(bytes.length / 64) * 64, '0')}` as const
}

describe('symbolIn', () => {
  it.each<[string, `0x${string}` | undefined, string | undefined]>([
    ['a string', text('USDC'), 'USDC'],
    ['32 bytes', `0x${Buffer.from('MKR').toString('hex').padEnd(64, '0')}`, 'MKR'],
    ['control and formatting characters', text('US\u202eDC\n\u200b'), 'USDC'],
    ['a long text', text('x'.repeat(900)), 'x'.repeat(32)],
    [
      'a length beyond the data',
      `0x${word(32n)}${word(2n ** 255n)}${Buffer.from('AB').toString('hex').padEnd(64, '0')}`,
      'AB',
    ],
    ['nothing', text(''), undefined],
    ['no answer', undefined, undefined],
  ])('returns a clean symbol of at most 32 characters, or undefined: %s', (_name, answer, symbol) => {
    expect(symbolIn(answer)).toBe(symbol)
  })
})

describe('decimalsIn', () => {
  it('accepts values of up to 255 only', () => {
    expect([18n, 255n, 256n].map((value) => decimalsIn(`0x${word(value)}`))).toEqual([18, 255, undefined])
  })
})
