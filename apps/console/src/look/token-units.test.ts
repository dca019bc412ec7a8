import { amountArgument, unitsOfFor } from './token-units.js'

const TOKEN = '0x7e70000000000000000000000000000000000001'
const transfer = { type: 'erc20', address: TOKEN, from: TOKEN, to: TOKEN, amount: '0x1' } as const
const changes = { transfers: [{ ...transfer, symbol: 'WETH', decimals: 18 }], balances: [], owners: [], approvals: [] }
const named = { name: 'transferFrom', args: {}, from: 'ERC-20' }

it('shows an amount of a token in its units, and nothing else', () => {
  const units = unitsOfFor(changes)(TOKEN)
  expect(amountArgument(named, 'value', '1500000000000000000', units)).toBe('1.5 WETH')
  expect(amountArgument(named, 'value', '1500000', { decimals: 6 })).toBe('1.5')
  expect(amountArgument(named, 'to', TOKEN, units)).toBeUndefined()
  expect(amountArgument({ ...named, from: 'ERC-721' }, 'value', '1', units)).toBeUndefined()
  // An endless allowance is no amount.
  expect(amountArgument(named, 'value', (2n ** 256n - 1n).toString(), units)).toBeUndefined()
  expect(amountArgument(named, 'value', '1', unitsOfFor({ ...changes, transfers: [] })(TOKEN))).toBeUndefined()
})
