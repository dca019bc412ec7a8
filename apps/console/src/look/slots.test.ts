import { encodeAbiParameters, type Hex, keccak256 } from 'viem'
import { meaningOf, slotMeanings } from './slots.js'

const ME = '0x00000000000000000000000000000000000a11ce'
const BOB = '0x0000000000000000000000000000000000000b0b'
const TOKEN = '0x00000000000000000000000000000000000000e7'
const asset = { type: 'erc20', address: TOKEN, symbol: 'USDC', decimals: 6 } as const
const place = (key: Hex, at: bigint) =>
  keccak256(encodeAbiParameters([{ type: 'address' }, { type: 'uint256' }], [key, at]))

const known = slotMeanings(
  {
    transfers: [{ ...asset, from: ME, to: BOB, amount: '0x1' }],
    approvals: [{ token: asset, owner: ME, spender: BOB, amount: '0x1', confirmation: 'agrees' }],
    ...{ balances: [], owners: [] },
  },
  ME,
)

it('recognises balance and allowance slots of any mapping', () => {
  const balance = meaningOf(TOKEN, place(BOB, 9n), known)
  expect([balance?.name, balance?.text('0x16e360')]).toEqual([`balance of ${BOB}`, '1.5 USDC'])
  const allowance = meaningOf(TOKEN, place(BOB, BigInt(place(ME, 10n))), known)
  expect(allowance?.name).toBe(`allowance of ${ME} to ${BOB}`)
  expect([allowance?.text('0x16e360'), allowance?.text(`0x${'f'.repeat(64)}`)]).toEqual(['1.5 USDC', 'all USDC'])
})

it('recognises the EIP-1967 slots of a proxy, and no others', () => {
  const implementation = '0x360894a13ba1a3210667c828492db98dca3e2076cc3735a920a3ca505d382bbc'
  expect(meaningOf(BOB, implementation, known)?.text(`0x${'0'.repeat(24)}${ME.slice(2)}`)).toBe(ME)
  expect(meaningOf(TOKEN, `0x${'0'.repeat(64)}`, known)).toBeUndefined()
})
