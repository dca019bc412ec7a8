import type { Address, Hex } from '@upfront/protocol'
import type { CallRecord, Frame } from '../engine/call-record.js'
import type { AssetQuestions } from './asset-changes.js'
import { decimalsIn, decimalsOf } from './questions.js'

/** Length of a selector and three words, as in `ERC20InsufficientBalance(address,uint256,uint256)`. */
const THREE_ARGUMENT_ERROR_LENGTH = 2 + 2 * (4 + 3 * 32)
/** A uint256 has at most 78 digits. */
const MAX_DECIMALS = 77

/** The token that a call's error comes from, and its decimals. */
export interface FailedToken {
  /** The error's data. Every frame on its way passed it on unchanged. */
  error: Hex
  decimals: number
}

/** For each call whose error may name token amounts, adds a question for the decimals of the contract that raised it. */
export function askFailedTokens(asked: readonly AssetQuestions[], records: readonly CallRecord[]): void {
  for (const [index, { questions }] of asked.entries()) {
    const token = findFailedToken(records[index]!)
    if (token === undefined) continue
    const question = decimalsOf(token)
    if (!questions.some(({ to, input }) => to === question.to && input === question.input)) questions.push(question)
  }
}

/** @param asked with the question of `askFailedTokens` @param record of the same call, with the answers */
export function failedToken({ questions }: AssetQuestions, record: CallRecord): FailedToken | undefined {
  const token = findFailedToken(record)
  if (token === undefined) return undefined
  const { to, input } = decimalsOf(token)
  const at = questions.findIndex((question) => question.to === to && question.input === input)
  const decimals = decimalsIn(record.probed[at]?.after)
  return decimals === undefined || decimals > MAX_DECIMALS ? undefined : { error: record.frames[0]!.output, decimals }
}

/** The contract whose storage the failing code uses: behind a proxy, the proxy. */
function findFailedToken({ frames }: CallRecord): Address | undefined {
  const [top] = frames
  if (top === undefined || !top.reverted || top.output.length !== THREE_ARGUMENT_ERROR_LENGTH) return undefined
  let token = top.to
  for (let at: number | undefined = 0; at !== undefined; at = findPropagatedFrame(frames, at)) {
    const { kind, to } = frames[at]!
    if (kind !== 'DELEGATECALL') token = to
  }
  return token
}

/** The caller's last inner frame, if its error is the caller's. */
function findPropagatedFrame(frames: readonly Frame[], caller: number): number | undefined {
  const { depth, output } = frames[caller]!
  let last: number | undefined
  for (let at = caller + 1; at < frames.length && frames[at]!.depth > depth; at += 1)
    if (frames[at]!.depth === depth + 1) last = at
  return last !== undefined && frames[last]!.reverted && frames[last]!.output === output ? last : undefined
}
