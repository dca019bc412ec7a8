import { Injectable } from '@nestjs/common'
import type { SignedReceipt } from '@upfront/receipt'

/** Of so many payments, the newest. A receipt takes about a kilobyte. */
const MOST_PAYMENTS = 10_000

/** The receipts that this process signed lately, for buyers whose answer was lost. */
@Injectable()
export class IssuedReceipts {
  private readonly byPayment = new Map<string, SignedReceipt[]>()

  add(receipt: SignedReceipt): void {
    const key = keyOf(receipt.payer, receipt.nonce)
    const receipts = this.byPayment.get(key)
    if (receipts !== undefined) {
      receipts.push(receipt)
      return
    }
    this.byPayment.set(key, [receipt])
    const [oldest] = this.byPayment.keys()
    if (this.byPayment.size > MOST_PAYMENTS && oldest !== undefined) this.byPayment.delete(oldest)
  }

  /** One for each call that the payment was charged for. */
  of(payer: string, nonce: string): readonly SignedReceipt[] {
    return this.byPayment.get(keyOf(payer, nonce)) ?? []
  }
}

function keyOf(payer: string, nonce: string): string {
  return `${payer.toLowerCase()} ${nonce}`
}
