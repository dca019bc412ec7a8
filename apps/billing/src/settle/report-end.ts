import type { Logger } from '@upfront/service'
import type { PaymentRow } from '../ledger/schema.js'
import type { BillingMetrics } from '../metrics.js'

/** Counts and logs a payment that has ended (possibly until a reorganisation). */
export function reportEnd(payment: PaymentRow, metrics: BillingMetrics, logger: Logger): void {
  const { id: paymentId, network, state, transaction, chargedAt, finishedAt, takenBackAt } = payment
  metrics.transitions.inc({ state })
  metrics.gasUsed.inc({ network }, Number(payment.gasUsed ?? 0))
  metrics.feesPaid.inc({ network }, Number(payment.feePaid ?? 0))
  if (state !== 'failed') {
    if (chargedAt !== null && finishedAt !== null) {
      metrics.settlementSeconds.observe((finishedAt.getTime() - chargedAt.getTime()) / 1_000)
    }
    logger.info({ paymentId, network, state, transaction }, 'payment ended')
    return
  }
  const reason = payment.reason ?? 'unknown'
  metrics.failedCharges.inc({ network, reason })
  logger.warn({ paymentId, network, state, transaction, reason }, 'payment ended')
  if (takenBackAt === null) return
  metrics.takenBack.inc({ network })
  logger.error({ paymentId, network, reason }, 'a reorg has undone a settlement for good')
}
