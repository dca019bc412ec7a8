import { Injectable } from '@nestjs/common'
import type { Chain } from '../chain/chain.js'
import type { Fees } from '../chain/gas-terms.js'
import { changePayment } from '../ledger/change-payment.js'
import { Ledger, type Transaction } from '../ledger/ledger.js'
import { type PaymentRow, type SignedTransactionRow, signedTransactions } from '../ledger/schema.js'
import { type Intent, signTransaction, takeNonces } from './sign.js'

/** More would hold the signer's lease for long. */
const LARGEST_BATCH = 16

export interface Signed {
  payment: PaymentRow
  transaction: SignedTransactionRow
}

interface Waiting {
  payment: PaymentRow
  intent: Intent
  fees: Fees
  /** `null`: the payment has moved on, and nothing was signed. */
  resolve: (signed: Signed | null) => void
  reject: (error: unknown) => void
}

/**
 * Signs and stores settlements: those of one signer that come while one database transaction is under way share the next
 * one, and with it the signer's lease.
 */
@Injectable()
export class SigningQueue {
  readonly #waiting = new Map<string, Waiting[]>()
  readonly #busy = new Set<string>()

  constructor(private readonly ledger: Ledger) {}

  /** Gives the payment's settlement the signer's next nonce, signs and stores it. `null`: the payment has moved on. */
  sign(chain: Chain, payment: PaymentRow, intent: Intent, fees: Fees): Promise<Signed | null> {
    const key = `${chain.network}/${intent.signer}`
    return new Promise((resolve, reject) => {
      const waiting = this.#waiting.get(key) ?? []
      waiting.push({ payment, intent, fees, resolve, reject })
      this.#waiting.set(key, waiting)
      if (!this.#busy.has(key)) void this.#work(key, chain)
    })
  }

  async #work(key: string, chain: Chain): Promise<void> {
    this.#busy.add(key)
    for (let waiting = this.#waiting.get(key); waiting !== undefined; waiting = this.#waiting.get(key)) {
      const batch = waiting.splice(0, LARGEST_BATCH)
      if (waiting.length === 0) this.#waiting.delete(key)
      await this.#signAll(chain, batch)
    }
    this.#busy.delete(key)
  }

  async #signAll(chain: Chain, batch: readonly Waiting[]): Promise<void> {
    try {
      const signed = await this.ledger.db.transaction((tx) => signBatch(tx, chain, batch))
      for (const [index, { resolve }] of batch.entries()) resolve(signed[index] ?? null)
    } catch (error) {
      if (!(error instanceof MovedOn)) {
        for (const { reject } of batch) reject(error)
        return
      }
      error.waiting.resolve(null)
      const rest = batch.filter((waiting) => waiting !== error.waiting)
      if (rest.length > 0) await this.#signAll(chain, rest)
    }
  }
}

/** Undoes the database transaction, its nonces included: a payment is no longer as it was read. */
class MovedOn extends Error {
  constructor(readonly waiting: Waiting) {
    super('moved on')
  }
}

async function signBatch(tx: Transaction, chain: Chain, batch: readonly Waiting[]): Promise<Signed[]> {
  const [first] = batch
  if (first === undefined) return []
  const nonce = await takeNonces(tx, chain, first.intent.signer, batch.length)
  const rows = await Promise.all(
    batch.map(({ intent, fees }, index) => signTransaction(chain, intent, nonce + index, fees)),
  )
  const signed: Signed[] = []
  for (const [index, waiting] of batch.entries()) {
    const transaction = rows[index] as SignedTransactionRow
    const { payment } = waiting
    const changed = await changePayment(tx, payment, {
      kind: payment.state === 'charging' ? 'submitted' : 'resubmitted',
      to: 'submitted',
      set: { transaction: transaction.hash, submittedAt: payment.submittedAt ?? new Date(), doubtfulFrom: null },
      data: { transaction: transaction.hash, signer: transaction.signer, nonce: transaction.nonce },
    })
    if (changed === null) throw new MovedOn(waiting)
    signed.push({ payment: changed, transaction })
  }
  await tx.insert(signedTransactions).values(rows)
  return signed
}
