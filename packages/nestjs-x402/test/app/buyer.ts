import { x402Client } from '@x402/core/client'
import { decodePaymentRequiredHeader, decodePaymentResponseHeader } from '@x402/core/http'
import { ExactEvmScheme } from '@x402/evm/exact/client'
import { UptoEvmScheme } from '@x402/evm/upto/client'
import { wrapFetchWithPayment } from '@x402/fetch'
import { privateKeyToAccount } from 'viem/accounts'
import { NETWORK } from './facilitator.js'

/** The well-known development key of the local chain's buyer. */
export const BUYER_KEY = '0x59c6995e998f97a5a0044966f0945389dc9e86dae88c7a8412f4603b6b78690d'

export function buyerClient(privateKey: `0x${string}` = BUYER_KEY): x402Client {
  return new x402Client()
    .register(NETWORK, new UptoEvmScheme(privateKeyToAccount(privateKey)))
    .register(NETWORK, new ExactEvmScheme(privateKeyToAccount(privateKey)))
    .setSpendControls({ allowedAssets: true })
}

export function payingFetch(privateKey: `0x${string}` = BUYER_KEY) {
  return wrapFetchWithPayment(fetch, buyerClient(privateKey))
}

/** Requests the offer and signs it. The header can be sent once or repeatedly. */
export async function signPayment(url: string, init: RequestInit = {}, client = buyerClient()): Promise<string> {
  const offer = await fetch(url, init)
  const required = decodePaymentRequiredHeader(offer.headers.get('payment-required') ?? '')
  const payload = await client.createPaymentPayload(required)
  return Buffer.from(JSON.stringify(payload)).toString('base64')
}

export function receiptOf(response: Response) {
  const header = response.headers.get('payment-response')
  return header === null ? undefined : decodePaymentResponseHeader(header)
}
