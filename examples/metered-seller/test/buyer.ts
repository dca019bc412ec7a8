import { USDC_ADDRESS, usdcAbi } from '@upfront/devnet'
import { x402Client } from '@x402/core/client'
import { decodePaymentRequiredHeader, decodePaymentResponseHeader } from '@x402/core/http'
import { UptoEvmScheme } from '@x402/evm/upto/client'
import { wrapFetchWithPayment } from '@x402/fetch'
import { type Address, createPublicClient, type Hex, http } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { NETWORK } from './stand.js'

export interface SignedRequest {
  headers: { 'PAYMENT-SIGNATURE': string }
}

export function signedRequest(payload: unknown): SignedRequest {
  return { headers: { 'PAYMENT-SIGNATURE': Buffer.from(JSON.stringify(payload)).toString('base64') } }
}

/** x402's own buyer, unmodified. */
export function buyer(privateKey: Hex) {
  const client = new x402Client()
    .register(NETWORK, new UptoEvmScheme(privateKeyToAccount(privateKey)))
    .setSpendControls({ allowedAssets: true })
  return {
    pay: wrapFetchWithPayment(fetch, client),
    /** A signed payment for the offer of `url`, valid for `validSeconds` if given. It can be sent repeatedly. */
    async sign(url: string, { validSeconds }: { validSeconds?: number } = {}): Promise<SignedRequest> {
      const offer = await fetch(url)
      const required = decodePaymentRequiredHeader(offer.headers.get('payment-required') ?? '')
      const [asked] = required.accepts
      if (asked === undefined) throw new Error(`${url} offers nothing`)
      const accepts = [{ ...asked, maxTimeoutSeconds: validSeconds ?? asked.maxTimeoutSeconds }]
      const payload = await client.createPaymentPayload({ ...required, accepts })
      return signedRequest({ ...payload, accepted: asked })
    },
  }
}

export function receiptOf(response: Response) {
  return decodePaymentResponseHeader(response.headers.get('payment-response') ?? '')
}

export function balanceOf(rpcUrl: string, account: Address): Promise<bigint> {
  const client = createPublicClient({ transport: http(rpcUrl) })
  return client.readContract({ address: USDC_ADDRESS, abi: usdcAbi, functionName: 'balanceOf', args: [account] })
}
