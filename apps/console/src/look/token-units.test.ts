import { amountArgument, unitsOfFor } from './token-units.js'

const TOKEN = '0x7e70000000000000000000000000000000000001'
const OWNER = '0xa11c000000000000000000000000000000000001'
const DESK = '0xde5c000000000000000000000000000000000001'
const transfer = { type: 'erc20', address: TOKEN, from: TOKEN, to: TOKEN, amount: '0x1' } as const
const changes = { transfers: [{ ...transfer, symbol: 'WETH', decimals: 18 }], balances: [], owners: [], approvals: [] }
const ofNobody = { ...changes, transfers: [] }

it('shows a token’s amount argument in its units, and no other argument', () => {
  const unitsOf = unitsOfFor(changes)
  const shown = (argument: string, value: string, from = 'ERC-20', units = unitsOf) =>
    amountArgument({ name: 'transferFrom', args: { [argument]: value }, from }, argument, TOKEN, units)
  expect(shown('value', '1500000000000000000')).toBe('1.5 WETH')
  expect(shown('value', '1500000', 'ERC-20', () => ({ decimals: 6 }))).toBe('1.5')
  expect(shown('to', TOKEN)).toBeUndefined()
  expect(shown('value', '1', 'ERC-721')).toBeUndefined()
  // An unlimited allowance is not an amount.
  expect(shown('value', (2n ** 256n - 1n).toString())).toBeUndefined()
  expect(shown('value', '1', 'ERC-20', unitsOfFor(ofNobody))).toBeUndefined()
})

it('shows an amount in the units of the token in another argument', () => {
  const OTHER = '0x7e70000000000000000000000000000000000002'
  const args = { tokenIn: TOKEN, amountIn: '1500000000000000000', tokenOut: OTHER, amountOut: '2', amount: '3' }
  const swap = { name: 'swap', args }
  const shown = (argument: string) => amountArgument(swap, argument, OTHER, unitsOfFor(changes))
  expect(shown('amountIn')).toBe('1.5 WETH')
  // The other token's units are unknown, and no argument names the token of the third.
  expect(shown('amountOut')).toBeUndefined()
  expect(shown('amount')).toBeUndefined()
})

it('applies an error’s decimals to the token that failed, not to its callers or implementation', () => {
  const failed = { from: OWNER, gasUsed: '0x1', error: 'execution reverted', output: '0xe4' } as const
  const error = { name: 'ERC20InsufficientBalance', args: {}, decimals: 6 }
  const implementation = { ...failed, type: 'DELEGATECALL', to: OWNER, decoded: { error } } as const
  const token = { ...failed, type: 'CALL', to: TOKEN, decoded: { error } } as const
  const calls = [{ ...token, calls: [implementation] }]
  const unitsOf = unitsOfFor(ofNobody, { ...failed, type: 'CALL', to: DESK, decoded: { error }, calls })
  expect([TOKEN, DESK, OWNER].map(unitsOf)).toEqual([{ decimals: 6 }, undefined, undefined])
})
