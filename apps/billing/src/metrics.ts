import { Injectable } from '@nestjs/common'
import { type Network, PAYMENT_STATES, RefusalReason } from '@upfront/protocol'
import { Metrics } from '@upfront/service'
import { Counter, Gauge, Histogram } from 'prom-client'
import { DIFFERENCES } from './settle/reconcile/compare.js'

/** Why charged payments fail. */
const FAILURES = [
  RefusalReason.nonceInvalidated,
  RefusalReason.insufficientBalance,
  RefusalReason.allowanceRequired,
  RefusalReason.deadlineExpired,
  RefusalReason.simulationFailed,
  RefusalReason.transactionFailed,
  RefusalReason.transferMismatch,
]

/** What `/metrics` shows of billing. */
@Injectable()
export class BillingMetrics extends Metrics {
  readonly authorizations = new Counter({
    name: 'billing_authorizations_total',
    help: 'Authorize calls by outcome: authorized, or the reason of the refusal',
    labelNames: ['outcome'],
    registers: [this.registry],
  })
  readonly transitions = new Counter({
    name: 'billing_payment_transitions_total',
    help: 'Payments that came into a state, by the process that brought them there',
    labelNames: ['state'],
    registers: [this.registry],
  })
  readonly open = new Gauge({
    name: 'billing_open_payments',
    help: 'Payments that are not final, by state, as of the last recovery round',
    labelNames: ['state'],
    registers: [this.registry],
  })
  readonly settlementSeconds = new Histogram({
    name: 'billing_settlement_seconds',
    help: 'From the stored charge to the settled payment',
    buckets: [0.05, 0.1, 0.25, 0.5, 1, 2, 4, 8, 16, 30, 60, 120, 300],
    registers: [this.registry],
  })
  readonly oldestUnsettled = new Gauge({
    name: 'billing_oldest_unsettled_seconds',
    help: 'Since when the oldest payment that is charging or submitted was charged, as of the last recovery round; 0: none',
    registers: [this.registry],
  })
  readonly gasUsed = new Counter({
    name: 'billing_gas_used_total',
    help: 'Gas of the settlements that this process has ended',
    labelNames: ['network'],
    registers: [this.registry],
  })
  readonly feesPaid = new Counter({
    name: 'billing_fees_paid_wei_total',
    help: 'What they cost the signers, L1 fees included',
    labelNames: ['network'],
    registers: [this.registry],
  })
  readonly reorgs = new Counter({
    name: 'billing_reorged_settlements_total',
    help: 'Settlements whose block the chain has dropped',
    labelNames: ['network'],
    registers: [this.registry],
  })
  readonly takenBack = new Counter({
    name: 'billing_settlements_taken_back_total',
    help: 'Settled payments that a reorganisation has undone and that could not be settled again',
    labelNames: ['network'],
    registers: [this.registry],
  })
  readonly differences = new Counter({
    name: 'billing_reconciliation_differences_total',
    help: 'Differences between the ledger and final blocks, by kind',
    labelNames: ['network', 'kind'],
    registers: [this.registry],
  })
  readonly reconciledBlock = new Gauge({
    name: 'billing_reconciled_block',
    help: 'The last block that was compared with the ledger',
    labelNames: ['network'],
    registers: [this.registry],
  })
  readonly failedCharges = new Counter({
    name: 'billing_failed_charges_total',
    help: 'Payments that failed after they were charged: what was delivered and not paid',
    labelNames: ['network', 'reason'],
    registers: [this.registry],
  })
  readonly gasSpentInADay = new Gauge({
    name: 'billing_gas_spent_day_wei',
    help: 'What the signers paid for gas in the last 24 hours, as the ledger recorded it',
    labelNames: ['network'],
    registers: [this.registry],
  })
  readonly receivedInADay = new Gauge({
    name: 'billing_received_day_units',
    help: "What was transferred to sellers in the last 24 hours, in the token's smallest unit",
    labelNames: ['network', 'asset'],
    registers: [this.registry],
  })
  readonly signerHoursLeft = new Gauge({
    name: 'billing_signer_hours_left',
    help: 'Balance of each own signer divided by its gas of the last hour; infinite where it spent none',
    labelNames: ['network', 'signer'],
    registers: [this.registry],
  })
  readonly signerSettlementsLeft = new Gauge({
    name: 'billing_signer_settlements_left',
    help: 'How many settlements the balance of each own signer pays for, beside those of the payments that are open',
    labelNames: ['network', 'signer'],
    registers: [this.registry],
  })
  readonly batchSizes = new Histogram({
    name: 'billing_settlement_batch_payments',
    help: 'Payments that one transaction settles, where SETTLEMENT is batch',
    labelNames: ['network'],
    buckets: [1, 2, 5, 10, 20, 50, 100],
    registers: [this.registry],
  })
  readonly feeBumps = new Counter({
    name: 'billing_fee_bumps_total',
    help: 'Transactions signed again with a higher fee',
    labelNames: ['network'],
    registers: [this.registry],
  })
  readonly signerWaits = new Gauge({
    name: 'billing_signer_waits',
    help: '1 while a signer signs nothing: for cheaper gas (maxFeePerGas), or as its gas budget of 24 hours is spent',
    labelNames: ['network', 'signer', 'for'],
    registers: [this.registry],
  })
  readonly nodeFaults = new Counter({
    name: 'billing_node_faults_total',
    help: 'Requests that the node did not answer, by method (before they were repeated)',
    labelNames: ['network', 'method'],
    registers: [this.registry],
  })
  readonly signerBalance = new Gauge({
    name: 'billing_signer_balance_wei',
    help: 'Native balance of each own signer, as of the last recovery round',
    labelNames: ['network', 'signer'],
    registers: [this.registry],
  })
  readonly signerNextNonce = new Gauge({
    name: 'billing_signer_next_nonce',
    help: 'The nonce that the ledger gives out next, as of the last recovery round',
    labelNames: ['network', 'signer'],
    registers: [this.registry],
  })
  readonly signerMinedNonce = new Gauge({
    name: 'billing_signer_mined_nonce',
    help: 'How many transactions of the signer are mined, as of the last recovery round',
    labelNames: ['network', 'signer'],
    registers: [this.registry],
  })
  readonly requestSeconds = new Histogram({
    name: 'billing_http_request_seconds',
    help: 'Time to answer',
    labelNames: ['route', 'status'],
    buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30],
    registers: [this.registry],
  })

  /** Has what alerts look at, and payments by state, begin at 0: a counter that appears with its first event has not risen. */
  begin(network: Network): void {
    for (const counter of [this.reorgs, this.takenBack, this.feeBumps]) counter.inc({ network }, 0)
    for (const kind of DIFFERENCES) this.differences.inc({ network, kind }, 0)
    for (const reason of FAILURES) this.failedCharges.inc({ network, reason }, 0)
    for (const state of PAYMENT_STATES) this.transitions.inc({ state }, 0)
  }
}
