import { encodeErrorResult, parseAbi } from 'viem'
import {
  type AssetChanges,
  amountText,
  approvalText,
  type Frame,
  hasFailure,
  isDoubtful,
  reasonOf,
  type SimulatedCall,
} from './outcome.js'

const ALICE = '0x00000000000000000000000000000000000a11ce'
const BOB = '0x0000000000000000000000000000000000000b0b'
const nothing: AssetChanges = { transfers: [], balances: [], owners: [], approvals: [] }
const frame: Frame = { type: 'CALL', from: ALICE, to: BOB, gasUsed: '0x5208' }
const call: SimulatedCall = {
  gasUsed: '0x5208',
  returnData: '0x',
  logs: [],
  trace: frame,
  stateDiff: {},
  assetChanges: nothing,
}

describe('reasonOf', () => {
  const failed = (data: `0x${string}`, code = 3) =>
    reasonOf({ ...call, returnData: data, error: { code, message: 'execution reverted', data } })

  it('says nothing of a call that succeeds', () => expect(reasonOf(call)).toBeUndefined())

  it('gives a revert’s words and a panic’s meaning', () => {
    const abi = parseAbi(['error Error(string)', 'error Panic(uint256)'])
    expect(failed(encodeErrorResult({ abi, errorName: 'Error', args: ['no'] }))).toBe('reverted: no')
    expect(failed(encodeErrorResult({ abi, errorName: 'Panic', args: [0x11n] }))).toBe(
      'panicked: arithmetic overflow or underflow',
    )
    expect(failed(encodeErrorResult({ abi, errorName: 'Panic', args: [0x99n] }))).toBe('panicked: code 153')
  })

  it('shows what it can not decode', () => {
    expect(failed('0x12345678')).toBe('execution reverted, with 0x12345678')
    expect(failed('0x')).toBe('execution reverted')
  })
})

it.each([
  [{ type: 'native' }, '0x2386f26fc10000', '0.01 ETH'],
  [{ type: 'erc20', address: BOB, symbol: 'USDC', decimals: 6 }, '0x16e360', '1.5 USDC'],
  [{ type: 'erc20', address: BOB }, '0x5', '5 units'],
  [{ type: 'erc721', address: BOB, symbol: 'CAT', tokenId: '0x7' }, '0x1', 'CAT no. 7'],
  [{ type: 'erc1155', address: BOB, tokenId: '0x7' }, '0x3', '3 units no. 7'],
] as const)('writes %j, %s as %s', (asset, amount, text) => expect(amountText(asset, amount)).toBe(text))

it.each([
  [{ amount: '0x0' }, 'take nothing more of USDC'],
  [{ amount: '0x16e360' }, 'take 1.5 USDC'],
  [{ amount: `0x${'f'.repeat(64)}` }, 'take all of USDC'],
  [{ tokenId: '0x7' }, 'take USDC no. 7'],
  [{ approved: true }, 'take all of USDC'],
  [{ approved: false }, 'take nothing more of USDC'],
] as const)('says of the approval %j: %s', (approval, text) => {
  const token = { type: 'erc20', address: BOB, symbol: 'USDC', decimals: 6 } as const
  expect(approvalText({ token, owner: ALICE, spender: BOB, ...approval })).toBe(text)
})

it('doubts logs that a contract contradicts', () => {
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

it('finds a failure however deep', () => {
  expect(hasFailure({ ...frame, calls: [{ ...frame, calls: [frame] }] })).toBe(false)
  expect(hasFailure({ ...frame, calls: [{ ...frame, calls: [{ ...frame, error: 'out of gas' }] }] })).toBe(true)
})
