import { type LogFilter, logMatches } from '@upfront/protocol'
import { type PendingBlock, type PendingLog, pendingLogs } from './present-pending-block.js'

/** `eth_getLogs` on pre-confirmed blocks: the logs that the filter's addresses and topics let through. */
export function presentPendingLogs(blocks: readonly PendingBlock[], filter: LogFilter): PendingLog[] {
  return blocks.flatMap((block) => pendingLogs(block).filter((log) => logMatches(log, filter)))
}
