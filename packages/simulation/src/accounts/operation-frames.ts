import type { Hex, UserOperation } from '@upfront/protocol'
import { type Frame, hasFailed } from '../engine/call-record.js'
import { SELECTORS } from './entry-point.js'

/** The calls that the EntryPoint made for an operation, each with all frames below it. Absent if not reached. */
export interface OperationFrames {
  /** Starts at the EntryPoint's SenderCreator. */
  creation?: Frame[]
  account?: Frame[]
  paymaster?: Frame[]
  execution?: Frame[]
  postOp?: Frame[]
}

/** @param frames of `handleOps` with this single operation */
export function operationFrames(
  frames: readonly Frame[],
  { sender, paymaster }: Pick<UserOperation, 'sender' | 'paymaster'>,
): OperationFrames {
  const [top] = frames
  if (top === undefined) return {}
  const begins: Partial<Record<keyof OperationFrames, number>> = {}
  /** The frame of depth 1 that contains the following frames. */
  let inner: Frame | undefined
  for (const [index, frame] of frames.entries()) {
    const { depth, to, input, from } = frame
    const calls = (selector: Hex) => input.startsWith(selector)
    if (depth === 1) {
      inner = frame
      if (calls(SELECTORS.createSender) || calls(SELECTORS.initEip7702Sender)) begins.creation = index
      else if (to === sender && calls(SELECTORS.validateUserOp)) begins.account = index
      else if (to === paymaster?.address && calls(SELECTORS.validatePaymasterUserOp)) begins.paymaster = index
    } else if (depth === 2 && from === top.to && inner?.to === top.to) {
      if (to === sender && begins.execution === undefined) begins.execution = index
      else if (to === paymaster?.address && calls(SELECTORS.postOp)) begins.postOp = index
    }
  }
  return Object.fromEntries(Object.entries(begins).map(([part, index]) => [part, below(frames, index)]))
}

function below(frames: readonly Frame[], from: number): Frame[] {
  const { depth } = frames[from]!
  const end = frames.findIndex((frame, index) => index > from && frame.depth <= depth)
  return frames.slice(from, end === -1 ? frames.length : end)
}

/** The decoded return value of a validation: https://eips.ethereum.org/EIPS/eip-4337#validation */
export interface ValidationData {
  signature: 'valid' | 'invalid' | 'aggregated'
  aggregator?: Hex
  /** Seconds since 1970. */
  validAfter?: bigint
  /** Seconds since 1970; absent if there is no end. */
  validUntil?: bigint
}

/** @param word index of the word in the return data @returns undefined if the data has no such word */
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
