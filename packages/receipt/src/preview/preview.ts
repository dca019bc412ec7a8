import type { Hex, SimulatedBlock } from '@upfront/protocol'
import type { ReceiptBlock } from '../receipt.js'
import { type AssetChange, assetChanges } from './asset-changes.js'

/** What one call would do, for human readers. Numbers are decimal strings. */
export interface Preview {
  status: 'success' | 'reverted'
  gasUsed: string
  /** Why it failed, decoded; null where it did not. */
  revertReason: string | null
  returnData: Hex
  changes: AssetChange[]
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
  [block]: readonly SimulatedBlock[],
  { state, flashblock }: Pick<ReceiptBlock, 'state' | 'flashblock'>,
): Preview {
  const call = block?.calls[0]
  if (block === undefined || call === undefined) throw new Error('a simulation of one call has no call')
  const { number, parentHash, timestamp } = block
  return {
    status: call.status === '0x1' ? 'success' : 'reverted',
    gasUsed: BigInt(call.gasUsed).toString(),
    revertReason: call.error === undefined ? null : typeof call.error === 'string' ? call.error : call.error.message,
    returnData: call.returnData,
    changes: assetChanges(call.logs),
    block: {
      number: BigInt(number).toString(),
      parentHash,
      timestamp: BigInt(timestamp).toString(),
      state: state === 'preconfirmed' ? state : 'latest',
      flashblock: state === 'preconfirmed' ? flashblock : null,
    },
  }
}
