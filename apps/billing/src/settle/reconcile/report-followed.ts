import type { Network } from '@upfront/protocol'
import type { Logger } from '@upfront/service'
import type { BillingMetrics } from '../../metrics.js'
import type { Followed } from './follow-chain.js'

/** Counts and logs what following the chain has changed, and what it can't explain. */
export function reportFollowed(
  network: Network,
  { differences, healed, reopened }: Followed,
  metrics: BillingMetrics,
  logger: Logger,
): void {
  for (const difference of differences) {
    metrics.differences.inc({ network, kind: difference.kind })
    logger.error(difference, 'the ledger and the chain differ')
  }
  for (const { id: paymentId, transaction } of healed) {
    metrics.transitions.inc({ state: 'settled' })
    logger.warn({ paymentId, network, transaction }, 'a payment is settled by its transfer, which was found')
  }
  for (const { id: paymentId } of reopened) {
    metrics.reorgs.inc({ network })
    logger.warn({ paymentId, network }, 'the chain has dropped the block of a settlement; it is under way again')
  }
}
