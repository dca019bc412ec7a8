import type { Address, Hex } from '@upfront/protocol'
import type { CallRecord, Frame } from '../engine/call-record.js'
import type { AssetQuestions } from './asset-changes.js'
import { decimalsIn, decimalsOf } from './questions.js'

/** A selector and three words, as `ERC20InsufficientBalance(address,uint256,uint256)` has. */
const ERROR_OF_THREE = 2 + 2 * (4 + 3 * 32)
/** More digits than the largest amount has. */
const MOST_DECIMALS = 77

/** What a call's error tells, and in which units. */
export interface FailedToken {
  /** The error's data, as every frame on its way passed it on. */
  error: Hex
  decimals: number
}

/** Asks the contract whose error it is for its decimals, of each call whose error may speak of a token's amounts. */
export function askFailedTokens(asked: readonly AssetQuestions[], records: readonly CallRecord[]): void {
  for (const [index, { questions }] of asked.entries()) {
    const token = tokenThatFailed(records[index]!)
    if (token === undefined) continue
    const question = decimalsOf(token)
    if (!questions.some(({ to, input }) => to === question.to && input === question.input)) questions.push(question)
  }
}

/** @param asked what `askFailedTokens` added to @param record of the same call, with the answers */
export function failedToken({ questions }: AssetQuestions, record: CallRecord): FailedToken | undefined {
  const token = tokenThatFailed(record)
  if (token === undefined) return undefined
  const { to, input } = decimalsOf(token)
  const at = questions.findIndex((question) => question.to === to && question.input === input)
  const decimals = decimalsIn(record.probed[at]?.after)
  return decimals === undefined || decimals > MOST_DECIMALS ? undefined : { error: record.frames[0]!.output, decimals }
}

/** The contract whose state the failing code works on: of a proxy, itself and not its implementation. */
function tokenThatFailed({ frames }: CallRecord): Address | undefined {
  const [top] = frames
  if (top === undefined || !top.reverted || top.output.length !== ERROR_OF_THREE) return undefined
  let token = top.to
  for (let at: number | undefined = 0; at !== undefined; at = passedOnBy(frames, at)) {
    const { kind, to } = frames[at]!
    if (kind !== 'DELEGATECALL') token = to
  }
  return token
}

/** The last frame that one called, where its error is the caller's. */
function passedOnBy(frames: readonly Frame[], caller: number): number | undefined {
  const { depth, output } = frames[caller]!
  let last: number | undefined
  for (let at = caller + 1; at < frames.length && frames[at]!.depth > depth; at += 1)
    if (frames[at]!.depth === depth + 1) last = at
  return last !== undefined && frames[last]!.reverted && frames[last]!.output === output ? last : undefined
}
