import { encodeErrorResult, parseAbi } from 'viem'
import { type Frame, failedPath, hasFailure, reasonOf, type SimulatedCall } from './outcome.js'

const ALICE = '0x00000000000000000000000000000000000a11ce'
const BOB = '0x0000000000000000000000000000000000000b0b'
const frame: Frame = { type: 'CALL', from: ALICE, to: BOB, gasUsed: '0x5208' }
const call: SimulatedCall = {
  gasUsed: '0x5208',
  returnData: '0x',
  logs: [],
  trace: frame,
  stateDiff: {},
  assetChanges: { transfers: [], balances: [], owners: [], approvals: [] },
}

describe('reasonOf', () => {
  const failed = (data: `0x${string}`, code = 3) =>
    reasonOf({ ...call, returnData: data, error: { code, message: 'execution reverted', data } }, [])

  it('says nothing of a call that succeeds', () => expect(reasonOf(call, [])).toBeUndefined())

  it('gives a revert’s words and a panic’s meaning', () => {
    const abi = parseAbi(['error Error(string)', 'error Panic(uint256)'])
    expect(failed(encodeErrorResult({ abi, errorName: 'Error', args: ['no'] }))).toBe('no')
    expect(failed(encodeErrorResult({ abi, errorName: 'Panic', args: [0x11n] }))).toBe(
      'arithmetic overflow or underflow',
    )
    expect(failed(encodeErrorResult({ abi, errorName: 'Panic', args: [0x99n] }))).toBe('panic 153')
  })

  it('shows what it can not decode', () => {
    expect(failed('0x12345678')).toBe('reverted with 0x12345678, which no ABI here names')
    expect(failed('0x')).toBe('reverted without a reason')
  })
})

it('finds a failure however deep', () => {
  expect(hasFailure({ ...frame, calls: [{ ...frame, calls: [frame] }] })).toBe(false)
  expect(hasFailure({ ...frame, calls: [{ ...frame, calls: [{ ...frame, error: 'out of gas' }] }] })).toBe(true)
})

it('finds the frame whose failure its callers passed on', () => {
  const failed = { ...frame, error: 'execution reverted', output: '0x12' as const }
  const caught = { ...frame, error: 'execution reverted', output: '0x99' as const }
  expect(failedPath(frame)).toEqual([])
  expect(failedPath({ ...failed, calls: [caught, failed] })).toEqual([{ ...failed, calls: [caught, failed] }, failed])
  expect(failedPath({ ...failed, calls: [failed, caught] })).toHaveLength(1)
})
