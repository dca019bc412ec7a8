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
    'Payments that this process moved into each state',
    ['state'],
  )
  readonly open = this.level(
    'billing_open_payments',
    'Payments that are not final, by state, as of the last recovery round',
    ['state'],
  )
  readonly settlementSeconds = this.histogram(
    'billing_settlement_seconds',
    'Time from the stored charge to the settled payment',
    [0.05, 0.1, 0.25, 0.5, 1, 2, 4, 8, 16, 30, 60, 120, 300],
  )
  readonly oldestUnsettled = this.level(
    'billing_oldest_unsettled_seconds',
    'Age of the oldest charge that is not settled, as of the last recovery round; 0 if there is none',
  )
  readonly gasUsed = this.count(
    'billing_gas_used_total',
    'Gas used by the settlements that this process has concluded',
    ['network'],
  )
  readonly feesPaid = this.count(
    'billing_fees_paid_wei_total',
    'Fees of the settlements that this process has concluded, L1 fees included',
    ['network'],
  )
  readonly reorgs = this.count('billing_reorged_settlements_total', 'Settlements whose block a reorg has dropped', [
    'network',
  ])
  readonly takenBack = this.count(
    'billing_settlements_taken_back_total',
    'Settled payments that a reorg has undone and that could not be settled again',
    ['network'],
  )
  readonly differences = this.count(
    'billing_reconciliation_differences_total',
    'Differences found between the ledger and final blocks, by kind',
    ['network', 'kind'],
  )
  readonly reconciledBlock = this.level('billing_reconciled_block', 'Last block that was compared with the ledger', [
    'network',
  ])
  readonly failedCharges = this.count(
    'billing_failed_charges_total',
    'Payments that failed after they were charged, by reason',
    ['network', 'reason'],
  )
  readonly gasSpentInADay = this.level(
    'billing_gas_spent_day_wei',
    'Fees that the signers paid in the last 24 hours, according to the ledger',
    ['network'],
  )
  readonly receivedInADay = this.level(
    'billing_received_day_units',
    "Amount transferred to sellers in the last 24 hours, in the token's smallest unit",
    ['network', 'asset'],
  )
  readonly signerHoursLeft = this.level(
    'billing_signer_hours_left',
    'Balance of each own signer divided by its fees of the last hour; infinite if it paid none',
    ['network', 'signer'],
  )
  readonly signerSettlementsLeft = this.level(
    'billing_signer_settlements_left',
    'Settlements that balance and daily budget of each own signer pay for, in addition to open payments',
    ['network', 'signer'],
  )
  readonly batchSizes = this.histogram(
    'billing_settlement_batch_payments',
    'Payments per settlement transaction if SETTLEMENT is batch',
    [1, 2, 5, 10, 20, 50, 100],
    ['network'],
  )
  readonly feeBumps = this.count('billing_fee_bumps_total', 'Transactions signed again with a higher fee', ['network'])
  readonly signerWaits = this.level(
    'billing_signer_waits',
    '1 while a signer signs nothing because gas is above maxFeePerGas or its dailyGasBudget is spent',
    ['network', 'signer', 'for'],
  )
  readonly nodeFaults = this.count(
    'billing_node_faults_total',
    'Requests that the node did not answer, by method; each attempt counts',
    ['network', 'method'],
  )
  readonly signerBalance = this.level(
    'billing_signer_balance_wei',
    'Native balance of each own signer, as of the last recovery round',
    ['network', 'signer'],
  )
  readonly signerNextNonce = this.level(
    'billing_signer_next_nonce',
    'Next nonce that the ledger assigns, as of the last recovery round',
    ['network', 'signer'],
  )
  readonly signerMinedNonce = this.level(
    'billing_signer_mined_nonce',
    'Mined transactions of the signer, as of the last recovery round',
    ['network', 'signer'],
  )
  readonly requestSeconds = this.histogram(
    'billing_http_request_seconds',
    'Time to answer a request',
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
