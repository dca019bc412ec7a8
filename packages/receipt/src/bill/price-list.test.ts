import { DEFAULT_PRICE_LIST, decodePriceList, gasWithinMaximum, meter } from './price-list.js'

const list = {
  version: '1',
  maximum: '$0.10',
  base: '$0.001',
  perMillionGas: '$0.01',
  perThousandTouched: '$0.5',
  perMillionWitnessBytes: '$0.02',
} as const

it.each([
  [{ gas: 0n, accounts: 0, slots: 0 }, 1_000n],
  [{ gas: 0n, accounts: 0, slots: 0, witnessBytes: 500_000 }, 11_000n],
  [{ gas: 1_000_000n, accounts: 0, slots: 0 }, 11_000n],
  [{ gas: 21_000n, accounts: 2, slots: 0 }, 2_210n],
  [{ gas: 0n, accounts: 3, slots: 7 }, 6_000n],
  [{ gas: 99n, accounts: 0, slots: 0 }, 1_000n],
  [{ gas: 50_000_000n, accounts: 0, slots: 0 }, 100_000n],
])('%j costs %s', (usage, units) => {
  expect(meter({ witnessBytes: 0, ...usage }, list, 6, 100_000n)).toBe(units)
})

it('meter uses the decimals of the asset', () => {
  const usage = { gas: 1n, accounts: 0, slots: 0, witnessBytes: 0 }
  expect(meter(usage, list, 18, 10n ** 17n)).toBe(1_000_010_000_000_000n)
  expect(meter(usage, list, 2, 10n)).toBe(0n)
})

it.each([
  [{}, 9_900_000n],
  [{ perMillionGas: '$0' }, undefined],
  [{ base: '$0.10' }, undefined],
  [{ base: '$0.0999' }, undefined],
] as const)('gasWithinMaximum with %j is %s', (given, gas) => {
  expect(gasWithinMaximum({ ...list, ...given })).toBe(gas)
})

it('decodePriceList reads the default list from its JSON', () => {
  expect(decodePriceList(JSON.stringify(DEFAULT_PRICE_LIST))).toEqual(DEFAULT_PRICE_LIST)
})

it('decodePriceList adds the default price of witnesses to an older list', () => {
  const { perMillionWitnessBytes: price, ...older } = DEFAULT_PRICE_LIST
  expect(decodePriceList(JSON.stringify(older))).toEqual({ ...older, perMillionWitnessBytes: price })
})

it.each([
  ['{', 'expected a JSON object'],
  ['[]', 'expected a JSON object'],
  ['{}', 'version: '],
  [JSON.stringify({ ...list, base: '0.001' }), 'base: expected'],
  [JSON.stringify({ ...list, perMillionGas: '$-1' }), 'perMillionGas: expected'],
  [JSON.stringify({ ...list, maximum: '$0' }), 'maximum: '],
  [JSON.stringify({ ...list, base: '$1' }), 'base: is above the maximum'],
  [JSON.stringify({ ...list, perKilogas: '$1' }), 'perKilogas: not known'],
])('decodePriceList refuses %s', (text, problem) => {
  expect(() => decodePriceList(text)).toThrow(problem)
})
