import type { Delivery } from '@upfront/nestjs-x402'
import { createReceiptEIP712, OFFER_RECEIPT } from '@x402/extensions/offer-receipt'
import { privateKeyToAccount } from 'viem/accounts'
import type { Environment } from '../environment/environment.js'

/**
 * Signs x402's own receipts of delivery (extension `offer-receipt`) with the receipt key, for clients that know them; what was
 * used and what it cost is in ours, beside each result. Undefined without a key.
 */
export function deliveryReceipts({
  RECEIPT_KEYS_FILE: receiptKeys,
}: Environment): ((delivery: Delivery) => Promise<Record<string, unknown>>) | undefined {
  if (receiptKeys === undefined) return undefined
  const account = privateKeyToAccount(receiptKeys.privateKey)
  return async (delivery) => {
    const receipt = await createReceiptEIP712(delivery, (message) =>
      account.signTypedData(message as Parameters<typeof account.signTypedData>[0]),
    )
    return { [OFFER_RECEIPT]: { info: { receipt } } }
  }
}
