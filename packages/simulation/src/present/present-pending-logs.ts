import type { LogFilter } from '@upfront/protocol'
import { type PendingBlock, type PendingLog, pendingLogs } from './present-pending-block.js'

/** `eth_getLogs` on pre-confirmed blocks: the logs that the filter's addresses and topics let through. */
export function presentPendingLogs(blocks: readonly PendingBlock[], { addresses, topics }: LogFilter): PendingLog[] {
  const passes = (log: PendingLog) =>
    (addresses.length === 0 || addresses.includes(log.address)) &&
    topics.length <= log.topics.length &&
    topics.every((wanted, at) => wanted.length === 0 || wanted.includes(log.topics[at]!))
  return blocks.flatMap((block) => pendingLogs(block).filter(passes))
}
