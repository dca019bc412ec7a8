import { encodeFunctionResult, erc20Abi, type Hex } from 'viem'
import type { SimulatePayload } from '../request/payload.js'
import type { Frame, SimulatedCall } from './answer.js'
import type { Approval } from './assets.js'
import { answersAfter, askedAfter, questionsAfter } from './token-questions.js'

const TOKEN = '0x7e70000000000000000000000000000000000001'
const OTHER = '0x7e70000000000000000000000000000000000002'
const OWNER = '0xa11c000000000000000000000000000000000001'
const DESK = '0xde5c000000000000000000000000000000000001'
const approval: Approval = {
  ...{ token: { type: 'erc20', address: TOKEN }, owner: OWNER, spender: DESK },
  ...{ amount: '0x5', after: '0x5', confirmation: 'agrees' },
}
const nothing = { transfers: [], balances: [], owners: [], approvals: [] }
const swap = { name: 'swap', args: { tokenIn: TOKEN, amountIn: '1', tokenOut: OTHER, amountOut: '2', token: OWNER } }
const trace: Frame = { type: 'CALL', from: OWNER, to: DESK, gasUsed: '0x1', decoded: { call: swap } }
const call = (changes: Partial<SimulatedCall['assetChanges']> = {}): SimulatedCall => ({
  ...{ gasUsed: '0x1', returnData: '0x', logs: [], trace, stateDiff: {} },
  assetChanges: { ...nothing, ...changes },
})

describe('questionsAfter', () => {
  it('asks for the units of tokens in arguments, unless the answer has them', () => {
    expect(questionsAfter([call()]).tokens).toEqual([TOKEN, OTHER])
    const moved = { transfers: [{ type: 'erc20', address: TOKEN, from: OWNER, to: DESK, amount: '0x1' } as const] }
    expect(questionsAfter([call(moved)]).tokens).toEqual([OTHER])
  })

  it('asks for the remaining allowance only if later calls may spend it', () => {
    expect(questionsAfter([call({ approvals: [approval] })]).approvals).toEqual([])
    expect(questionsAfter([call({ approvals: [approval] }), call()]).approvals).toEqual([approval])
  })

  it('asks about at most 8 tokens, whatever the trace contains', () => {
    const named = (at: number): Frame => {
      const tokenIn = `0x${at.toString(16).padStart(40, '0')}`
      return { ...trace, decoded: { call: { name: 'swap', args: { tokenIn, amountIn: '1' } } } }
    }
    const calls = Array.from({ length: 10_000 }, (_, at) => named(at))
    expect(questionsAfter([{ ...call(), trace: { ...trace, calls } }]).tokens).toHaveLength(8)
  })
})

it('appends its questions to the last block without validation, and decodes their answers', () => {
  const questions = { tokens: [TOKEN, OTHER] as Hex[], approvals: [approval] }
  const payload: SimulatePayload = {
    blockStateCalls: [{ calls: [{ to: DESK }] }],
    traceTransfers: true,
    validation: true,
  }
  const asked = askedAfter(payload, questions)
  const calls = asked!.blockStateCalls[0]!.calls
  expect(calls.map(({ to, input }) => [to, input?.slice(0, 10)])).toEqual([
    [DESK, undefined],
    [TOKEN, '0x313ce567'],
    [TOKEN, '0x95d89b41'],
    [OTHER, '0x313ce567'],
    [OTHER, '0x95d89b41'],
    [TOKEN, '0xdd62ed3e'],
  ])
  // With validation, the questions would have to pay fees.
  expect(asked).not.toHaveProperty('validation')

  const said = [
    encodeFunctionResult({ abi: erc20Abi, functionName: 'decimals', result: 6 }),
    encodeFunctionResult({ abi: erc20Abi, functionName: 'symbol', result: 'TUSD' }),
    '0x' as const,
    '0x' as const,
    encodeFunctionResult({ abi: erc20Abi, functionName: 'allowance', result: 2n }),
  ].map((returnData) => ({ returnData }))
  const { units, left } = answersAfter(questions, [{ returnData: '0x' }, ...said])
  expect([...units]).toEqual([[TOKEN, { decimals: 6, symbol: 'TUSD' }]])
  expect([...left.values()]).toEqual(['0x2'])
  expect(answersAfter(questions, [])).toEqual({ units: new Map(), left: new Map() })
})

it('sends no request if there is no question', () =>
  expect(askedAfter({ blockStateCalls: [], traceTransfers: true }, { tokens: [], approvals: [] })).toBeUndefined())
