// The shortest purchase: it simulates an empty call to oneself.
import { x402Client } from '@x402/core/client'
import { decodePaymentResponseHeader } from '@x402/core/http'
import { UptoEvmScheme } from '@x402/evm/upto/client'
import { wrapFetchWithPayment } from '@x402/fetch'
import { privateKeyToAccount } from 'viem/accounts'

const { GATEWAY_URL, NETWORK, ASSET, BUYER_PRIVATE_KEY } = process.env as Record<string, string>
const account = privateKeyToAccount(BUYER_PRIVATE_KEY as `0x${string}`)
// The client reads the chain through the gateway. If Permit2 is not approved, it signs a permit with each payment.
const client = new x402Client()
  .register(NETWORK as `${string}:${string}`, new UptoEvmScheme(account, { rpcUrl: GATEWAY_URL as string }))
  .setSpendControls({
    allowedAssets: [
      { network: NETWORK as `${string}:${string}`, asset: ASSET as string, maxAmountPerPayment: '100000' },
    ],
  })

const query = `from=${account.address}&to=${account.address}&value=0`
const response = await wrapFetchWithPayment(fetch, client)(`${GATEWAY_URL}/v1/preview?${query}`)
const answer = (await response.json()) as { status: string }
if (!response.ok) throw new Error(`HTTP ${response.status}: ${JSON.stringify(answer)}`)
const { amount, transaction } = decodePaymentResponseHeader(response.headers.get('payment-response') ?? '')
console.log(JSON.stringify({ status: answer.status, amount, transaction }))
