import type { Hex, UserOperation } from '@upfront/protocol'
import type { Frame } from '../engine/call-record.js'
import { SELECTORS } from './entry-point.js'

/** What the EntryPoint called for an operation: each a frame with all below it. Absent where it was not come to. */
export interface OperationFrames {
  /** From the EntryPoint's SenderCreator on. */
  creation?: Frame[]
  account?: Frame[]
  paymaster?: Frame[]
  execution?: Frame[]
  postOp?: Frame[]
}

/** @param frames of `handleOps` with this operation alone */
export function operationFrames(
  frames: readonly Frame[],
  { sender, paymaster }: Pick<UserOperation, 'sender' | 'paymaster'>,
): OperationFrames {
  const [top] = frames
  if (top === undefined) return {}
  const found: OperationFrames = {}
  for (const [index, { depth, to, input, from }] of frames.entries()) {
    const calls = (selector: Hex) => input.startsWith(selector)
    if (depth === 1) {
      if (calls(SELECTORS.createSender) || calls(SELECTORS.initEip7702Sender)) found.creation = below(frames, index)
      else if (to === sender && calls(SELECTORS.validateUserOp)) found.account = below(frames, index)
      else if (to === paymaster?.address && calls(SELECTORS.validatePaymasterUserOp))
        found.paymaster = below(frames, index)
    } else if (depth === 2 && from === top.to) {
      const isInner = callerOf(frames, index)?.to === top.to
      if (isInner && to === sender && found.execution === undefined) found.execution = below(frames, index)
      else if (isInner && to === paymaster?.address && calls(SELECTORS.postOp)) found.postOp = below(frames, index)
    }
  }
  return found
}

function below(frames: readonly Frame[], from: number): Frame[] {
  const { depth } = frames[from]!
  const end = frames.findIndex((frame, index) => index > from && frame.depth <= depth)
  return frames.slice(from, end === -1 ? frames.length : end)
}

function callerOf(frames: readonly Frame[], at: number): Frame | undefined {
  const { depth } = frames[at]!
  for (let index = at - 1; index >= 0; index--) if (frames[index]!.depth < depth) return frames[index]
  return undefined
}

export function hasFailed({ reverted, halt }: Frame): boolean {
  return reverted || halt !== undefined
}

/** What a validation answered: https://eips.ethereum.org/EIPS/eip-4337#validation */
export interface ValidationData {
  signature: 'valid' | 'invalid' | 'aggregated'
  aggregator?: Hex
  /** Seconds since 1970. */
  validAfter?: bigint
  /** Seconds since 1970; absent: without end. */
  validUntil?: bigint
}

/** @param word index of the answer's word; undefined where there is none */
export function validationData(frame: Frame | undefined, word: number): ValidationData | undefined {
  if (frame === undefined || hasFailed(frame)) return undefined
  const from = 2 + word * 64
  const given = frame.output.slice(from, from + 64)
  if (given.length < 64) return undefined
  const validAfter = BigInt(`0x${given.slice(0, 12)}`)
  const validUntil = BigInt(`0x${given.slice(12, 24)}`)
  const authorizer = BigInt(`0x${given.slice(24)}`)
  return {
    signature: authorizer === 0n ? 'valid' : authorizer === 1n ? 'invalid' : 'aggregated',
    ...(authorizer > 1n && { aggregator: `0x${given.slice(24)}` as Hex }),
    ...(validAfter > 0n && { validAfter }),
    ...(validUntil > 0n && { validUntil }),
  }
}
