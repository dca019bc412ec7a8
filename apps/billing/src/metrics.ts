import { Injectable } from '@nestjs/common'
import { type Network, PAYMENT_STATES, RefusalReason } from '@upfront/protocol'
import { Metrics } from '@upfront/service'
import { Counter, Gauge, Histogram } from 'prom-client'
import { DIFFERENCES } from './settle/reconcile/compare.js'

/** Reasons for which charged payments fail. */
const FAILURES = [
  RefusalReason.nonceInvalidated,
  RefusalReason.insufficientBalance,
  RefusalReason.allowanceRequired,
  RefusalReason.deadlineExpired,
  RefusalReason.simulationFailed,
  RefusalReason.transactionFailed,
  RefusalReason.transferMismatch,
]

/** The metrics of billing's `/metrics`. */
@Injectable()
export class BillingMetrics extends Metrics {
  readonly authorizations = this.count(
    'billing_authorizations_total',
    'Authorize calls by outcome: authorized, or the reason of the refusal',
    ['outcome'],
  )
  readonly transitions = this.count(
    'billing_payment_transitions_total',
    'Payments that came into a state, by the process that brought them there',
    ['state'],
  )
  readonly open = this.level(
    'billing_open_payments',
    'Payments that are not final, by state, as of the last recovery round',
    ['state'],
  )
  readonly settlementSeconds = this.histogram(
    'billing_settlement_seconds',
    'From the stored charge to the settled payment',
    [0.05, 0.1, 0.25, 0.5, 1, 2, 4, 8, 16, 30, 60, 120, 300],
  )
  readonly oldestUnsettled = this.level(
    'billing_oldest_unsettled_seconds',
    'Since when the oldest payment that is charging or submitted was charged, as of the last recovery round; 0: none',
  )
  readonly gasUsed = this.count('billing_gas_used_total', 'Gas of the settlements that this process has ended', [
    'network',
  ])
  readonly feesPaid = this.count('billing_fees_paid_wei_total', 'What they cost the signers, L1 fees included', [
    'network',
  ])
  readonly reorgs = this.count('billing_reorged_settlements_total', 'Settlements whose block the chain has dropped', [
    'network',
  ])
  readonly takenBack = this.count(
    'billing_settlements_taken_back_total',
    'Settled payments that a reorganisation has undone and that could not be settled again',
    ['network'],
  )
  readonly differences = this.count(
    'billing_reconciliation_differences_total',
    'Differences between the ledger and final blocks, by kind',
    ['network', 'kind'],
  )
  readonly reconciledBlock = this.level(
    'billing_reconciled_block',
    'The last block that was compared with the ledger',
    ['network'],
  )
  readonly failedCharges = this.count(
    'billing_failed_charges_total',
    'Payments that failed after they were charged: what was delivered and not paid',
    ['network', 'reason'],
  )
  readonly gasSpentInADay = this.level(
    'billing_gas_spent_day_wei',
    'What the signers paid for gas in the last 24 hours, as the ledger recorded it',
    ['network'],
  )
  readonly receivedInADay = this.level(
    'billing_received_day_units',
    "What was transferred to sellers in the last 24 hours, in the token's smallest unit",
    ['network', 'asset'],
  )
  readonly signerHoursLeft = this.level(
    'billing_signer_hours_left',
    'Balance of each own signer divided by its gas of the last hour; infinite where it spent none',
    ['network', 'signer'],
  )
  readonly signerSettlementsLeft = this.level(
    'billing_signer_settlements_left',
    'How many settlements the balance of each own signer pays for, beside those of the payments that are open',
    ['network', 'signer'],
  )
  readonly batchSizes = this.histogram(
    'billing_settlement_batch_payments',
    'Payments that one transaction settles, where SETTLEMENT is batch',
    [1, 2, 5, 10, 20, 50, 100],
    ['network'],
  )
  readonly feeBumps = this.count('billing_fee_bumps_total', 'Transactions signed again with a higher fee', ['network'])
  readonly signerWaits = this.level(
    'billing_signer_waits',
    '1 while a signer signs nothing: for cheaper gas (maxFeePerGas), or as its gas budget of 24 hours is spent',
    ['network', 'signer', 'for'],
  )
  readonly nodeFaults = this.count(
    'billing_node_faults_total',
    'Requests that the node did not answer, by method (before they were repeated)',
    ['network', 'method'],
  )
  readonly signerBalance = this.level(
    'billing_signer_balance_wei',
    'Native balance of each own signer, as of the last recovery round',
    ['network', 'signer'],
  )
  readonly signerNextNonce = this.level(
    'billing_signer_next_nonce',
    'The nonce that the ledger gives out next, as of the last recovery round',
    ['network', 'signer'],
  )
  readonly signerMinedNonce = this.level(
    'billing_signer_mined_nonce',
    'How many transactions of the signer are mined, as of the last recovery round',
    ['network', 'signer'],
  )
  readonly requestSeconds = this.histogram(
    'billing_http_request_seconds',
    'Time to answer',
    [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30],
    ['route', 'status'],
  )

  /** Initializes the counters used by alerts, and payments by state, to 0: a counter that first appears at 1 shows no increase. */
  begin(network: Network): void {
    for (const counter of [this.reorgs, this.takenBack, this.feeBumps]) counter.inc({ network }, 0)
    for (const kind of DIFFERENCES) this.differences.inc({ network, kind }, 0)
    for (const reason of FAILURES) this.failedCharges.inc({ network, reason }, 0)
    for (const state of PAYMENT_STATES) this.transitions.inc({ state }, 0)
  }

  private count(name: string, help: string, labelNames: string[] = []): Counter {
    return new Counter({ name, help, labelNames, registers: [this.registry] })
  }

  private level(name: string, help: string, labelNames: string[] = []): Gauge {
    return new Gauge({ name, help, labelNames, registers: [this.registry] })
  }

  private histogram(name: string, help: string, buckets: number[], labelNames: string[] = []): Histogram {
    return new Histogram({ name, help, buckets, labelNames, registers: [this.registry] })
  }
}
