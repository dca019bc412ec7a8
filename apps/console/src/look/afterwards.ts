import { type Address, decodeFunctionResult, encodeFunctionData, erc20Abi, type Hex, toHex } from 'viem'
import type { Call, SimulatePayload } from '../request/payload.js'
import type { Frame, SimulatedCall } from './answer.js'
import type { Approval } from './assets.js'
import type { TokenUnits } from './token-units.js'

/** What is asked of tokens in the state that the request leaves. */
export interface TokenQuestions {
  /** Tokens that arguments are amounts of, and of which the answer says no decimals. */
  tokens: Address[]
  /** Given by a call that others follow: they may have spent it. */
  approvals: Approval[]
}

const MOST_TOKENS = 8
const MOST_APPROVALS = 16
const MOST_FRAMES = 256

/** @param calls all of a request's, in their order */
export function questionsAfter(calls: readonly SimulatedCall[]): TokenQuestions {
  const known = new Set<string | undefined>()
  const named = new Set<Address>()
  for (const { assetChanges, trace } of calls) {
    for (const { address } of [...assetChanges.transfers, ...assetChanges.approvals.map(({ token }) => token)])
      known.add(address)
    for (const token of tokensIn(trace)) named.add(token)
  }
  return {
    tokens: [...named].filter((token) => !known.has(token)).slice(0, MOST_TOKENS),
    approvals: calls
      .slice(0, -1)
      .flatMap(({ assetChanges }) => assetChanges.approvals)
      .filter(({ amount, tokenId, permit2 }) => amount !== undefined && tokenId === undefined && permit2 === undefined)
      .slice(0, MOST_APPROVALS),
  }
}

/** Contracts called as ERC-20, and those that an argument such as `tokenIn` names beside its amount. */
function tokensIn(trace: Frame): Set<Address> {
  const tokens = new Set<Address>()
  const frames = [trace]
  for (let at = 0; at < frames.length && at < MOST_FRAMES; at++) {
    const { type, to, decoded, calls = [] } = frames[at]!
    frames.push(...calls)
    const called = decoded?.call
    if (called === undefined) continue
    if (called.from === 'ERC-20' && to !== undefined && type === 'CALL') tokens.add(to.toLowerCase() as Address)
    for (const [argument, value] of Object.entries(called.args)) {
      if (/^token(?:In|Out)?$/.test(argument) && argument.replace('token', 'amount') in called.args)
        tokens.add(String(value).toLowerCase() as Address)
    }
  }
  return tokens
}

/** The request with the questions as calls at its end; undefined where there are none. */
export function askedAfter(
  payload: SimulatePayload,
  { tokens, approvals }: TokenQuestions,
): SimulatePayload | undefined {
  const questions: Call[] = [
    ...tokens.flatMap((token) => [
      { to: token, input: encodeFunctionData({ abi: erc20Abi, functionName: 'decimals' }) },
      { to: token, input: encodeFunctionData({ abi: erc20Abi, functionName: 'symbol' }) },
    ]),
    ...approvals.map(({ token, owner, spender }) => ({
      ...(token.address && { to: token.address }),
      input: encodeFunctionData({ abi: erc20Abi, functionName: 'allowance', args: [owner, spender] }),
    })),
  ]
  if (questions.length === 0) return undefined
  const { blockStateCalls, traceTransfers } = payload
  const last = blockStateCalls.at(-1)!
  return {
    traceTransfers,
    blockStateCalls: [...blockStateCalls.slice(0, -1), { ...last, calls: [...last.calls, ...questions] }],
  }
}

export interface TokenAnswers {
  units: Map<string, TokenUnits>
  /** What is left of an allowance. */
  left: Map<Approval, Hex>
}

/** @param answers the calls of the last block, of which the last ones answer the questions */
export function answersAfter(
  { tokens, approvals }: TokenQuestions,
  answers: readonly Pick<SimulatedCall, 'error' | 'returnData'>[],
): TokenAnswers {
  const said = answers.slice(answers.length - 2 * tokens.length - approvals.length)
  const read = <T>(at: number, decode: (data: Hex) => T): T | undefined => {
    const answer = said[at]
    if (answer === undefined || answer.error !== undefined) return undefined
    try {
      return decode(answer.returnData)
    } catch {
      // It is no token.
      return undefined
    }
  }
  const units = new Map<string, TokenUnits>()
  for (const [at, token] of tokens.entries()) {
    const decimals = read(2 * at, (data) => decodeFunctionResult({ abi: erc20Abi, functionName: 'decimals', data }))
    const symbol = read(2 * at + 1, (data) => decodeFunctionResult({ abi: erc20Abi, functionName: 'symbol', data }))
    if (decimals !== undefined && decimals <= MOST_DECIMALS)
      units.set(token, { decimals, ...(symbol && symbol.length <= MOST_SYMBOL && { symbol }) })
  }
  const left = new Map<Approval, Hex>()
  for (const [at, approval] of approvals.entries()) {
    const amount = read(2 * tokens.length + at, (data) =>
      decodeFunctionResult({ abi: erc20Abi, functionName: 'allowance', data }),
    )
    if (amount !== undefined) left.set(approval, toHex(amount))
  }
  return { units, left }
}

const MOST_DECIMALS = 77
const MOST_SYMBOL = 24
