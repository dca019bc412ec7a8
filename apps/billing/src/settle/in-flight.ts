import { type Claimant, readSubmitted } from '../ledger/claim-work.js'
import type { Database } from '../ledger/ledger.js'
import type { PaymentRow, SignedTransactionRow } from '../ledger/schema.js'
import type { TrackResult } from './outcome/track.js'

/** Submitted payments of our signers: those of the last ledger read, and those submitted here since. */
export class InFlight {
  readonly #payments = new Map<string, PaymentRow>()
  #readAt = 0
  readonly #db: Database

  constructor(db: Database) {
    this.#db = db
  }

  get size(): number {
    return this.#payments.size
  }

  /** Payments that a new block may advance: not mined yet, or mined at or below `confirmedBlock`. */
  due(confirmedBlock: bigint): PaymentRow[] {
    const isDue = ({ blockNumber }: PaymentRow) => blockNumber === null || blockNumber <= confirmedBlock
    return [...this.#payments.values()].filter(isDue)
  }

  /** Rereads the ledger unless it was read recently: other processes submit payments too. */
  async refresh(claimant: Claimant): Promise<void> {
    if (Date.now() - this.#readAt < claimant.nextLookMilliseconds / 2) return
    this.#readAt = Date.now()
    const before = [...this.#payments.keys()]
    const found = new Map((await readSubmitted(this.#db, claimant)).map((payment) => [payment.id, payment]))
    for (const id of before) if (!found.has(id)) this.#payments.delete(id)
    for (const [id, payment] of found) this.#payments.set(id, payment)
  }

  /** Adds payments whose transaction was stored. */
  add(payments: readonly PaymentRow[], { hash: transaction, signedAt }: SignedTransactionRow): void {
    const submitted = { state: 'submitted', transaction, updatedAt: signedAt, doubt: null, doubtfulFrom: null } as const
    for (const payment of payments) {
      this.#payments.set(payment.id, { ...payment, ...submitted, submittedAt: payment.submittedAt ?? signedAt })
    }
  }

  /** Updates a payment with the result of a look at it. */
  note(payment: PaymentRow, result: TrackResult): void {
    if ('payment' in result && result.payment.state === 'submitted') this.#payments.set(payment.id, result.payment)
    else if ('payment' in result || result.outcome === 'moved on') this.#payments.delete(payment.id)
    else if (result.outcome === 'broadcast' && result.bumped)
      this.#payments.set(payment.id, { ...payment, transaction: result.transaction.hash })
  }
}
