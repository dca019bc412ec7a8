import {
  type AssetChanges,
  amountText,
  approvalText,
  contradictedTransfers,
  isDoubtful,
  shortAmountText,
} from './assets.js'

const ALICE = '0x00000000000000000000000000000000000a11ce'
const BOB = '0x0000000000000000000000000000000000000b0b'
const nothing: AssetChanges = { transfers: [], balances: [], owners: [], approvals: [] }

it.each([
  [{ type: 'native' }, '0x2386f26fc10000', '0.01 ETH'],
  [{ type: 'erc20', address: BOB, symbol: 'USDC', decimals: 6 }, '0x16e360', '1.5 USDC'],
  [{ type: 'erc20', address: BOB }, '0x5', '5 units'],
  [{ type: 'erc721', address: BOB, symbol: 'CAT', tokenId: '0x7' }, '0x1', 'CAT no. 7'],
  [{ type: 'erc1155', address: BOB, tokenId: '0x7' }, '0x3', '3 units no. 7'],
] as const)('amountText(%j, %s) is %s', (asset, amount, text) => expect(amountText(asset, amount)).toBe(text))

it.each([
  [{ type: 'native' }, '0x112210f47de98115', '1.234567… ETH'],
  [{ type: 'native' }, '0x1bc16d674ec80000', '2 ETH'],
  [{ type: 'erc20', address: BOB, symbol: 'SHIB' }, `0x${'f'.repeat(64)}`, '≈ 1.158e+77 SHIB'],
  [{ type: 'erc721', address: BOB, symbol: 'ENS', tokenId: `0x${'f'.repeat(64)}` }, '0x1', 'ENS no. ≈ 1.158e+77'],
] as const)('shortAmountText(%j, %s) is %s', (asset, amount, text) => expect(shortAmountText(asset, amount)).toBe(text))

it.each([
  [{ amount: '0x0' }, 'take nothing more of USDC'],
  [{ amount: '0x16e360' }, 'take 1.5 USDC'],
  [{ amount: `0x${'f'.repeat(64)}` }, 'take all of USDC'],
  [{ tokenId: '0x7' }, 'take USDC no. 7'],
  [{ approved: true }, 'take all of USDC'],
  [{ approved: false }, 'take nothing more of USDC'],
] as const)('approvalText(%j) is %s', (approval, text) => {
  const token = { type: 'erc20', address: BOB, symbol: 'USDC', decimals: 6 } as const
  expect(approvalText({ token, owner: ALICE, spender: BOB, confirmation: 'agrees', ...approval })).toBe(text)
})

it('shows the short address of a token without a symbol', () => {
  const operator = { token: { type: 'erc721', address: BOB }, owner: ALICE, spender: ALICE, approved: true } as const
  expect(approvalText({ ...operator, confirmation: 'agrees' })).toBe('take all of 0x0000…0B0b')
})

it('doubts changes only if a contract’s balance disagrees with its logs', () => {
  const balance = { type: 'erc20', address: BOB, account: ALICE } as const
  const having = (confirmation: 'agrees' | 'disagrees' | 'unknown') => ({
    ...nothing,
    balances: [{ ...balance, confirmation }],
  })
  expect(['agrees', 'unknown', 'disagrees'].map((word) => isDoubtful(having(word as 'agrees')))).toEqual([
    false,
    false,
    true,
  ])
})

it('finds the transfers that a token’s balances contradict, and no others', () => {
  const erc20 = { type: 'erc20', address: BOB, from: ALICE, to: BOB, amount: '0x1' } as const
  const cat = { type: 'erc721', address: BOB, tokenId: '0x7', from: ALICE, to: BOB, amount: '0x1' } as const
  const changes: AssetChanges = {
    ...nothing,
    transfers: [
      erc20,
      { ...erc20, address: ALICE },
      { ...erc20, from: BOB },
      cat,
      { ...cat, tokenId: '0x8' },
      { type: 'native', from: ALICE, to: BOB, amount: '0x1' },
    ],
    balances: [{ type: 'erc20', address: BOB, account: ALICE, confirmation: 'disagrees' }],
    owners: [{ type: 'erc721', address: BOB, tokenId: '0x8', confirmation: 'disagrees' }],
  }
  const contradicted = contradictedTransfers(changes)
  expect(changes.transfers.map((transfer) => contradicted.has(transfer))).toEqual([
    true,
    false,
    false,
    false,
    true,
    false,
  ])
})
