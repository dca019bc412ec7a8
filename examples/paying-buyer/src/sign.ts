// Signs an offer: reads the PAYMENT-REQUIRED header from standard input, writes the PAYMENT-SIGNATURE header to standard output.
import { text } from 'node:stream/consumers'
import { x402Client, x402HTTPClient } from '@x402/core/client'
import { decodePaymentRequiredHeader } from '@x402/core/http'
import { UptoEvmScheme } from '@x402/evm/upto/client'
import { privateKeyToAccount } from 'viem/accounts'

const { NETWORK, ASSET, BUYER_PRIVATE_KEY } = process.env as Record<string, string>
const account = privateKeyToAccount(BUYER_PRIVATE_KEY as `0x${string}`)
const client = new x402Client()
  .register(NETWORK as `${string}:${string}`, new UptoEvmScheme(account))
  .setSpendControls({
    allowedAssets: [
      { network: NETWORK as `${string}:${string}`, asset: ASSET as string, maxAmountPerPayment: '100000' },
    ],
  })

const offer = decodePaymentRequiredHeader((await text(process.stdin)).trim())
const headers = new x402HTTPClient(client).encodePaymentSignatureHeader(await client.createPaymentPayload(offer))
console.log(headers['PAYMENT-SIGNATURE'])
