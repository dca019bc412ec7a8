import type { AssetChanges } from './assets.js'
import { joinedChanges, sentenceOf } from './sentence.js'

const ME = '0x00000000000000000000000000000000000a11ce'
const BOB = '0x0000000000000000000000000000000000000b0b'
const WETH = {
  type: 'erc20',
  address: '0x00000000000000000000000000000000000000e7',
  symbol: 'WETH',
  decimals: 18,
} as const
const TUSD = {
  type: 'erc20',
  address: '0x00000000000000000000000000000000000000d0',
  symbol: 'TUSD',
  decimals: 6,
} as const
const nothing: AssetChanges = { transfers: [], balances: [], owners: [], approvals: [] }
const ether = (amount: bigint) => `0x${(amount * 10n ** 18n).toString(16)}` as const
const say = (changes: Partial<AssetChanges>, isYou = true) =>
  sentenceOf({ ...nothing, ...changes }, { address: ME, isYou }, (address) => (address === BOB ? 'Bob' : address))
const approval = (fields: object) =>
  ({ token: WETH, owner: ME, spender: BOB, confirmation: 'agrees', ...fields }) as const

it.each([
  [{}, 'Nothing changes hands. Nobody gains an allowance.'],
  [
    {
      transfers: [
        { ...WETH, from: ME, to: BOB, amount: ether(2n) },
        { ...WETH, from: BOB, to: ME, amount: ether(1n) },
        { ...TUSD, from: BOB, to: ME, amount: '0x16e360' as const },
      ],
    },
    'You send 1 WETH and receive 1.5 TUSD. Nobody gains an allowance.',
  ],
  [
    { transfers: [{ ...WETH, from: BOB, to: WETH.address, amount: ether(2n) }] },
    'You send and receive nothing; others do. Nobody gains an allowance.',
  ],
  [{ approvals: [approval({ amount: ether(3n) })] }, 'Nothing changes hands. Bob may take up to 3 WETH.'],
  [
    { approvals: [approval({ amount: ether(3n) }), approval({ amount: '0x0' })] },
    'Nothing changes hands. Nobody gains an allowance.',
  ],
  [
    { approvals: [approval({ amount: `0x${'f'.repeat(64)}` })] },
    'Nothing changes hands. Bob may take all of your WETH, now and later.',
  ],
  // The calls spent all of it, or a part.
  [{ approvals: [approval({ amount: ether(3n), after: '0x0' })] }, 'Nothing changes hands. Nobody gains an allowance.'],
  [
    { approvals: [approval({ amount: ether(3n), after: ether(1n) })] },
    'Nothing changes hands. Bob may take up to 1 WETH.',
  ],
])('describes %j as: %s', (changes, sentence) => expect(say(changes as Partial<AssetChanges>)).toBe(sentence))

it('marks amounts that balances contradict as supposed, and speaks of “the account” without a named sender', () => {
  const transfers = [{ ...WETH, from: BOB, to: ME, amount: ether(5n) }] as const
  const balances = [{ ...WETH, account: ME, confirmation: 'disagrees' }] as const
  const changes = { transfers: [...transfers], balances: [...balances] }
  expect(say(changes, false)).toBe('The account receives supposedly 5 WETH. Nobody gains an allowance.')
})

it('joins the changes of several calls', () => {
  const one = { ...nothing, transfers: [{ ...WETH, from: ME, to: BOB, amount: ether(1n) } as const] }
  expect(joinedChanges([one, one]).transfers).toHaveLength(2)
})
