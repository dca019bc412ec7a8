import { ZERO_ADDRESS } from '@upfront/protocol'
import { type CallRecord, type Frame, lastingFrames } from '../engine/call-record.js'
import { type AssetApproval, type AssetTransfer, approvalIn, transfersByLogs } from './events.js'
import { allowanceOf } from './questions.js'

export interface AssetEvents {
  /** Native transfers in frame order, then those from logs. */
  transfers: AssetTransfer[]
  /** The last approval for each owner, spender and asset. */
  approvals: AssetApproval[]
}

/** What a call moved and approved, from its frames and logs. Reverted frames are left out. */
export function assetEvents({ frames }: Pick<CallRecord, 'frames'>): AssetEvents {
  const lasting = lastingFrames(frames)
  const logs = lasting.flatMap((frame) => frame.logs)
  const approvals = lastOfEach(logs.flatMap((log) => approvalIn(log) ?? []))
  return { transfers: [...lasting.flatMap(nativeTransferOf), ...transfersByLogs(logs)], approvals }
}

function lastOfEach(approvals: readonly AssetApproval[]): AssetApproval[] {
  const key = (approval: AssetApproval) => Object.values(allowanceOf(approval)).join()
  return [...new Map(approvals.map((approval) => [key(approval), approval])).values()]
}

function nativeTransferOf({ kind, from, to = ZERO_ADDRESS, value = 0n }: Frame): AssetTransfer[] {
  const moves = kind !== 'CALLCODE' && kind !== 'DELEGATECALL' && value > 0n && from !== to
  return moves ? [{ asset: { type: 'native' }, from, to, amount: value }] : []
}
