import type { Frame, SimulatedCall } from './answer.js'
import { failedPath, hasFailure, reasonOf } from './outcome.js'

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
  const failed = (error: object | undefined, data: `0x${string}` = '0x12345678') =>
    reasonOf({
      ...call,
      returnData: data,
      error: { code: 3, message: 'execution reverted', data },
      decoded: { ...(error && { error: { name: 'Nope', args: {}, ...error } }), logs: [] },
    })

  it('returns no reason for a call that succeeds', () => expect(reasonOf(call)).toBeUndefined())

  it.each([
    [{ name: 'Error', args: { message: 'no' } }, 'no'],
    [{ name: 'Panic', args: { code: '17' }, meaning: 'arithmetic overflow' }, 'arithmetic overflow'],
    [{ name: 'Late', args: { by: '7' } }, 'Late(by: 7)'],
    [
      { name: 'InsufficientAllowance', args: { spender: BOB, allowance: '0', needed: '1500000' } },
      'the allowance is too low: 0 allowed, 1,500,000 needed',
    ],
  ])('describes %j as: %s', (error, words) => expect(failed(error)).toBe(words))

  it('shows amounts in the token’s decimals', () => {
    const error = {
      name: 'ERC20InsufficientBalance',
      args: { sender: BOB, balance: '25', needed: '1500000' },
      decimals: 6,
    }
    const trace = { ...frame, error: 'execution reverted', decoded: { error } }
    expect(reasonOf({ ...call, trace, error: { code: 3, message: 'execution reverted' } })).toBe(
      'the balance is too low: 0.000025 held, 1.5 needed',
    )
  })

  it('shows revert data that it cannot decode', () => {
    expect(failed(undefined)).toBe('reverted with 0x12345678, which no known ABI names')
    expect(failed(undefined, '0x')).toBe('reverted without a reason')
  })
})

it('finds a failed frame at any depth', () => {
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
