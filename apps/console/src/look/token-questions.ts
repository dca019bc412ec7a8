import { type Address, decodeFunctionResult, encodeFunctionData, erc20Abi, type Hex, toHex } from 'viem'
import type { Call, SimulatePayload } from '../request/payload.js'
import type { Frame, SimulatedCall } from './answer.js'
import type { Approval } from './assets.js'
import type { TokenUnits } from './token-units.js'

/** Questions to tokens on the state after the request. */
export interface TokenQuestions {
  /** Tokens of amounts in arguments, if the answer does not give their decimals. */
  tokens: Address[]
  /** Approvals followed by other calls, which may have used them. */
  approvals: Approval[]
}

const MAX_TOKENS = 8
const MAX_APPROVALS = 16
const MAX_FRAMES = 256

/** @param calls all calls of a request, in order */
export function questionsAfter(calls: readonly SimulatedCall[]): TokenQuestions {
  const known = new Set<string | undefined>()
  const named = new Set<Address>()
  for (const { assetChanges, trace } of calls) {
    for (const { address } of [...assetChanges.transfers, ...assetChanges.approvals.map(({ token }) => token)])
      known.add(address)
    for (const token of tokensIn(trace)) named.add(token)
  }
  return {
    tokens: [...named].filter((token) => !known.has(token)).slice(0, MAX_TOKENS),
    approvals: calls
      .slice(0, -1)
      .flatMap(({ assetChanges }) => assetChanges.approvals)
      .filter(({ amount, tokenId, permit2 }) => amount !== undefined && tokenId === undefined && permit2 === undefined)
      .slice(0, MAX_APPROVALS),
  }
}

/** Contracts called as ERC-20, and tokens that an argument such as `tokenIn` names next to its amount. */
function tokensIn(trace: Frame): Set<Address> {
  const tokens = new Set<Address>()
  const frames = [trace]
  for (let at = 0; at < frames.length && at < MAX_FRAMES; at++) {
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

/** The request with the questions appended as calls; undefined if there are none. */
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
  /** The remaining allowance. */
  left: Map<Approval, Hex>
}

/** @param answers the calls of the last block, which end with the answers */
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
      // Not a token.
      return undefined
    }
  }
  const units = new Map<string, TokenUnits>()
  for (const [at, token] of tokens.entries()) {
    const decimals = read(2 * at, (data) => decodeFunctionResult({ abi: erc20Abi, functionName: 'decimals', data }))
    const symbol = read(2 * at + 1, (data) => decodeFunctionResult({ abi: erc20Abi, functionName: 'symbol', data }))
    if (decimals !== undefined && decimals <= MAX_DECIMALS)
      units.set(token, { decimals, ...(symbol && symbol.length <= MAX_SYMBOL && { symbol }) })
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

const MAX_DECIMALS = 77
const MAX_SYMBOL = 24
