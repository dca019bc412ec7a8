import type { Hex } from '@upfront/protocol'
import type { DecodedFrame, InspectedBlock } from '@upfront/simulation'
import type { ReceiptBlock } from '../receipt.js'
import { assetChanges } from './asset-changes.js'
import { type ConfirmedChange, confirmedChanges } from './confirmed-changes.js'
import { customError, type FailingFrame, failingFrame } from './failing-frame.js'

/** Changes shown per call; the others are only counted. */
const MAX_CHANGES = 256

/** The effect of one call, for people. Numbers are decimal strings. */
export interface Preview {
  status: 'success' | 'reverted'
  gasUsed: string
  /** The called function, such as `transfer(address to, uint256 value)`, if its signature is well known; else null. */
  call: string | null
  /** Decoded reason of a failure; null if the call succeeded. */
  revertReason: string | null
  /** Where the call failed; null if it succeeded. */
  failedAt: FailingFrame | null
  returnData: Hex
  /** At most 256. */
  changes: ConfirmedChange[]
  /** Number of changes left out of `changes`. */
  moreChanges: number
  /** The simulated block and its base: the parent, or the block under construction as of a flashblock. */
  block: {
    number: string
    parentHash: Hex
    timestamp: string
    state: 'latest' | 'preconfirmed'
    flashblock: number | null
  }
}

/** Makes the preview from a simulation requested by `previewParams`, on `state`. */
export function previewOf(
  [block]: readonly InspectedBlock[],
  { state, flashblock }: Pick<ReceiptBlock, 'state' | 'flashblock'>,
): Preview {
  const call = block?.calls[0]
  if (block === undefined || call === undefined) throw new Error('a simulation of one call has no call')
  const { assetChanges: asked, trace } = call
  if (asked === undefined || trace === undefined) throw new Error('a preview takes asset changes and a trace')
  const changes = assetChanges(call.logs)
  const { number, parentHash, timestamp } = block
  return {
    status: call.status === '0x1' ? 'success' : 'reverted',
    gasUsed: BigInt(call.gasUsed).toString(),
    call: call.decoded?.call?.signature ?? null,
    revertReason: call.error === undefined ? null : (customError(call.decoded?.error) ?? describeError(call.error)),
    failedAt: failingFrame(trace as DecodedFrame),
    returnData: call.returnData,
    changes: confirmedChanges(changes.slice(0, MAX_CHANGES), asked),
    moreChanges: Math.max(changes.length - MAX_CHANGES, 0),
    block: {
      number: BigInt(number).toString(),
      parentHash,
      timestamp: BigInt(timestamp).toString(),
      state: state === 'preconfirmed' ? state : 'latest',
      flashblock: state === 'preconfirmed' ? flashblock : null,
    },
  }
}

function describeError(error: string | { message: string }): string {
  return typeof error === 'string' ? error : error.message
}
