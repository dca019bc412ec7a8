import { Injectable } from '@nestjs/common'
import type { Hex } from '@upfront/protocol'
import type { Chain } from '../../chain/chain.js'
import type { Fees } from '../../chain/gas-terms.js'
import { batchGasLimit, encodeBatch } from '../../chain/settlement-batch.js'
import { settlementTarget } from '../../chain/settlement-call.js'
import { changePayment } from '../../ledger/change-payment.js'
import { Ledger, type Transaction } from '../../ledger/ledger.js'
import type { PaymentRow, SignedTransactionRow } from '../../ledger/schema.js'
import { storeTransaction } from '../../ledger/signed-transactions.js'
import { type Intent, signTransaction, takeNonces } from './sign.js'

/** Transactions that share a database transaction. More would hold the signer's lease for long. */
const MOST_TRANSACTIONS = 16
/** Of a settlement alone, which an item of a batch does not use. */
const TRANSACTION_GAS = 21_000n

/** What moves a payment's charge. */
export interface Settlement {
  payment: PaymentRow
  /** Calldata for its {@link settlementTarget}. */
  call: Hex
  /** The gas limit of a transaction that does nothing else. */
  gas: bigint
}

interface Waiting {
  settlements: readonly Settlement[]
  fees: Fees
  /** The only nonce that it may have; `null`: the next one. */
  nonce: number | null
  resolve: (signed: SignedTransactionRow | null) => void
  reject: (error: unknown) => void
}

/**
 * Signs and stores settlements: transactions of one signer that come while one database transaction is under way share the next
 * one, and with it the signer's lease.
 */
@Injectable()
export class SigningQueue {
  private readonly waiting = new Map<string, Waiting[]>()
  private readonly busy = new Set<string>()

  constructor(private readonly ledger: Ledger) {}

  /**
   * Makes one transaction of these settlements, which have one signer, gives it the signer's next nonce, signs and stores it.
   * Payments that have moved on are left out. `null`: nothing was signed, as no payment was left, or as the next nonce is not
   * `onlyNonce`.
   */
  sign(
    chain: Chain,
    settlements: readonly Settlement[],
    fees: Fees,
    onlyNonce: number | null = null,
  ): Promise<SignedTransactionRow | null> {
    const key = `${chain.network}/${signerOf(settlements)}`
    return new Promise((resolve, reject) => {
      const waiting = this.waiting.get(key) ?? []
      waiting.push({ settlements, fees, nonce: onlyNonce, resolve, reject })
      this.waiting.set(key, waiting)
      if (!this.busy.has(key)) void this.work(key, chain)
    })
  }

  private async work(key: string, chain: Chain): Promise<void> {
    this.busy.add(key)
    for (let waiting = this.waiting.get(key); waiting !== undefined; waiting = this.waiting.get(key)) {
      const some = waiting.splice(0, MOST_TRANSACTIONS)
      if (waiting.length === 0) this.waiting.delete(key)
      await this.signAll(chain, some)
    }
    this.busy.delete(key)
  }

  private async signAll(chain: Chain, waiting: readonly Waiting[]): Promise<void> {
    if (waiting.length === 0) return
    try {
      const signed = await this.ledger.db.transaction((tx) => signAndStore(tx, chain, waiting))
      for (const [index, { resolve }] of waiting.entries()) resolve(signed[index] ?? null)
    } catch (error) {
      if (error instanceof MovedOn) return this.signAll(chain, without(waiting, error))
      for (const { reject } of waiting) reject(error)
    }
  }
}

/** Undoes the database transaction, its nonces included: these payments are no longer as they were read. */
class MovedOn extends Error {
  constructor(
    readonly waiting: Waiting,
    readonly payments: ReadonlySet<string>,
  ) {
    super('moved on')
  }
}

/** What is left to sign; what has nothing left is resolved. */
function without(all: readonly Waiting[], { waiting: changed, payments }: MovedOn): Waiting[] {
  return all.flatMap((waiting) => {
    if (waiting !== changed) return [waiting]
    const settlements = waiting.settlements.filter(({ payment }) => !payments.has(payment.id))
    if (settlements.length > 0) return [{ ...waiting, settlements }]
    waiting.resolve(null)
    return []
  })
}

async function signAndStore(
  tx: Transaction,
  chain: Chain,
  waiting: readonly Waiting[],
): Promise<SignedTransactionRow[]> {
  const first = await takeNonces(tx, chain, signerOf(waiting[0]!.settlements), waiting.length)
  const signed: SignedTransactionRow[] = []
  for (const [index, one] of waiting.entries()) {
    const nonce = first + index
    if (one.nonce !== null && one.nonce !== nonce) throw new MovedOn(one, new Set(one.settlements.map(idOf)))
    const transaction = await signTransaction(chain, intentOf(one.settlements), nonce, one.fees)
    await storeTransaction(tx, transaction, one.settlements.map(idOf))
    const gone = new Set<string>()
    for (const { payment } of one.settlements) {
      const { state, submittedAt } = payment
      const changed = await changePayment(tx, payment, {
        kind: state === 'charging' ? 'submitted' : 'resubmitted',
        to: 'submitted',
        set: { transaction: transaction.hash, submittedAt: submittedAt ?? new Date(), doubtfulFrom: null, doubt: null },
        data: { transaction: transaction.hash, signer: transaction.signer, nonce },
      })
      if (changed === null) gone.add(payment.id)
    }
    if (gone.size > 0) throw new MovedOn(one, gone)
    signed.push(transaction)
  }
  return signed
}

/** One settlement is a call of its own; more are a batch of the signer's own account. */
export function intentOf(settlements: readonly Settlement[]): Intent {
  const signer = signerOf(settlements)
  const [only] = settlements
  if (only !== undefined && settlements.length === 1)
    return { signer, to: settlementTarget(only.payment), data: only.call, gas: only.gas }
  const items = settlements.map(({ payment, call, gas }) => {
    return { to: settlementTarget(payment), call, gas: gas - TRANSACTION_GAS }
  })
  const data = encodeBatch(signer, items)
  return { signer, to: signer, data, gas: batchGasLimit(items, data) }
}

function signerOf([first]: readonly Settlement[]): PaymentRow['facilitator'] {
  if (first === undefined) throw new Error('nothing to settle')
  return first.payment.facilitator
}

function idOf({ payment }: Settlement): string {
  return payment.id
}
