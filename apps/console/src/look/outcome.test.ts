import { encodeErrorResult, parseAbi } from 'viem'
import { amountText, reasonOf, type SimulatedCall, transfersOf } from './outcome.js'

const call: SimulatedCall = { status: '0x1', gasUsed: '0x5208', returnData: '0x', logs: [] }
const TRANSFER = '0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef'
const topic = (digit: string) => `0x${'0'.repeat(24)}${digit.repeat(40)}` as const
const word = (value: bigint) => `0x${value.toString(16).padStart(64, '0')}` as const

describe('reasonOf', () => {
  const failed = (data: `0x${string}`, code = 3) =>
    reasonOf({ ...call, status: '0x0', returnData: data, error: { code, message: 'execution reverted', data } })

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

describe('transfersOf', () => {
  it('finds ether, amounts of tokens and ids', () => {
    const token = '0x1234567890123456789012345678901234567890'
    const ether = '0xeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee'
    const logs = [
      { address: ether, topics: [TRANSFER, topic('a'), topic('b')], data: word(10n ** 16n) },
      { address: token, topics: [TRANSFER, topic('a'), topic('b')], data: word(5n) },
      { address: token, topics: [TRANSFER, topic('b'), topic('a'), word(7n)], data: '0x' },
      { address: token, topics: [TRANSFER], data: '0x' },
      { address: token, topics: [], data: word(1n) },
    ] as const
    const transfers = transfersOf({ ...call, logs: logs.map((log) => ({ ...log, topics: [...log.topics] })) })
    expect(transfers.map(amountText)).toEqual(['0.01 ETH', '5 units', '7 units'])
    expect(transfers[2]).toEqual({ from: `0x${'b'.repeat(40)}`, to: `0x${'a'.repeat(40)}`, amount: 7n, token })
  })
})
