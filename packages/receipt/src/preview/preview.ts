import type { Hex } from '@upfront/protocol'
import type { DecodedFrame, InspectedBlock } from '@upfront/simulation'
import type { ReceiptBlock } from '../receipt.js'
import { assetChanges } from './asset-changes.js'
import { type ConfirmedChange, confirmedChanges } from './confirmed-changes.js'
import { customError, type FailingFrame, failingFrame } from './failing-frame.js'

/** Shown of one call; more are counted. */
const MOST_CHANGES = 256

/** What one call would do, for human readers. Numbers are decimal strings. */
export interface Preview {
  status: 'success' | 'reverted'
  gasUsed: string
  /** What is called, such as `transfer(address to, uint256 value)`, where everybody knows it; else null. */
  call: string | null
  /** Why it failed, decoded; null where it did not. */
  revertReason: string | null
  /** Where it failed; null where it did not. */
  failedAt: FailingFrame | null
  returnData: Hex
  /** The first 256. */
  changes: ConfirmedChange[]
  /** Left out of `changes`. */
  moreChanges: number
  /** The simulated block, and what it stands on: its parent, or the block under construction as of a flashblock. */
  block: {
    number: string
    parentHash: Hex
    timestamp: string
    state: 'latest' | 'preconfirmed'
    flashblock: number | null
  }
}

/** The preview of a simulation that `previewParams` asked for, on `state`. */
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
    revertReason: call.error === undefined ? null : (customError(call.decoded?.error) ?? wordsOf(call.error)),
    failedAt: failingFrame(trace as DecodedFrame),
    returnData: call.returnData,
    changes: confirmedChanges(changes.slice(0, MOST_CHANGES), asked),
    moreChanges: Math.max(changes.length - MOST_CHANGES, 0),
    block: {
      number: BigInt(number).toString(),
      parentHash,
      timestamp: BigInt(timestamp).toString(),
      state: state === 'preconfirmed' ? state : 'latest',
      flashblock: state === 'preconfirmed' ? flashblock : null,
    },
  }
}

function wordsOf(error: string | { message: string }): string {
  return typeof error === 'string' ? error : error.message
}
