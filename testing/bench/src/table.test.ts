import { formatNumber, formatTable } from './table.js'

test('formatTable makes columns as wide as their widest cell', () => {
  expect(formatTable(['what', 'ms'], [['a longer one', '1']])).toBe(
    ['| what         | ms |', '|--------------|---:|', '| a longer one |  1 |'].join('\n'),
  )
})

test.each([
  [undefined, ''],
  [0.01234, '0.0123'],
  [12.345, '12.3'],
  [1234.5, '1235'],
] as const)('formatNumber(%p) is %p', (value, text) => {
  expect(formatNumber(value)).toBe(text)
})
