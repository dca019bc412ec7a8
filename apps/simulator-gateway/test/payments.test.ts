import { ledgerStores } from '@upfront/devnet'
import type { SignedReceipt } from '@upfront/receipt'
import { x402Client, x402HTTPClient } from '@x402/core/client'
import { decodePaymentRequiredHeader } from '@x402/core/http'
import { UptoEvmScheme } from '@x402/evm/upto/client'
import {
  createSIWxPayload,
  encodeSIWxHeader,
  type SIWxExtensionInfo,
  type SupportedChain,
} from '@x402/extensions/sign-in-with-x'
import { type PrivateKeyAccount, privateKeyToAccount } from 'viem/accounts'
import { type PaidStand, startPaidStand } from './paid-stand.js'

let stand: PaidStand
let buyer: PrivateKeyAccount

beforeAll(async () => {
  const [store] = ledgerStores()
  if (store === undefined) throw new Error('there is no ledger store')
  stand = await startPaidStand(store, { RECEIPT_KEY: `0x${'42'.repeat(32)}` })
  buyer = privateKeyToAccount(stand.devnet.accounts.buyer.privateKey)
}, 120_000)
afterAll(() => stand?.stop(), 60_000)

interface Paid {
  receipt: SignedReceipt
  charge: { amount: string }
}

interface Challenge {
  error: { data: { 'sign-in-with-x': { info: SIWxExtensionInfo; supportedChains: [SupportedChain] } } }
}

/** Pays for a preview. */
async function pay(): Promise<{ nonce: string; receipt: SignedReceipt; amount: string }> {
  const url = `${stand.gateway.url}/v1/preview?to=${buyer.address}`
  const offer = (await fetch(url)).headers.get('payment-required') ?? ''
  const client = new x402Client()
    .register('eip155:31337', new UptoEvmScheme(buyer))
    .setSpendControls({ allowedAssets: true })
  const payment = await client.createPaymentPayload(decodePaymentRequiredHeader(offer))
  const headers = new x402HTTPClient(client).encodePaymentSignatureHeader(payment)
  const { receipt, charge } = (await (await fetch(url, { headers })).json()) as Paid
  const { nonce } = (payment.payload as { permit2Authorization: { nonce: string } }).permit2Authorization
  return { nonce, receipt, amount: charge.amount }
}

const urlOf = (nonce: string) => `${stand.gateway.url}/v1/payments/${nonce}`

async function signInHeader(url: string, account = buyer): Promise<string> {
  const { error } = (await (await fetch(url)).json()) as Challenge
  const { info, supportedChains } = error.data['sign-in-with-x']
  return encodeSIWxHeader(await createSIWxPayload({ ...info, ...supportedChains[0] }, account, url))
}

const ask = (url: string, header: string) => fetch(url, { headers: { 'sign-in-with-x': header } })

it('tells the payer what became of its payment, with the receipt', async () => {
  const { nonce, receipt, amount } = await pay()
  expect(receipt.signature).toMatch(/^0x/)
  const response = await ask(urlOf(nonce), await signInHeader(urlOf(nonce)))
  expect([response.status, response.headers.get('cache-control')]).toEqual([200, 'no-store'])
  expect(await response.json()).toMatchObject({
    payment: {
      state: expect.stringMatching(/^(submitted|settled)$/),
      payer: buyer.address.toLowerCase(),
      nonce,
      charge: amount,
      transaction: expect.stringMatching(/^0x[0-9a-f]{64}$/),
    },
    receipts: [receipt],
  })
})

it('tells nobody else', async () => {
  const { nonce } = await pay()
  const url = urlOf(nonce)
  const stranger = privateKeyToAccount(stand.devnet.accounts.unapprovedBuyer.privateKey)
  expect((await ask(url, await signInHeader(url, stranger))).status).toBe(404)

  const own = await signInHeader(url)
  const proof = JSON.parse(Buffer.from(own, 'base64').toString())
  const forged = (change: Record<string, unknown>) =>
    Buffer.from(JSON.stringify({ ...proof, ...change })).toString('base64')
  const tries = [
    await signInHeader(urlOf('1')),
    forged({ address: stranger.address }),
    forged({ domain: 'example.org' }),
    forged({ chainId: 'eip155:1' }),
    forged({ issuedAt: new Date(Date.now() - 600_000).toISOString() }),
    forged({ nonce: 'no' }),
    forged({ signature: '0x' }),
    'no base64!',
    Buffer.from('{}').toString('base64'),
  ]
  for (const header of tries) expect((await ask(url, header)).status).toBe(401)
  expect((await ask(url, own)).status).toBe(200)
})

it.each(['', 'pay_1', '-1', '01', '9'.repeat(78)])('refuses the nonce %j', async (nonce) => {
  expect([400, 404]).toContain((await fetch(urlOf(nonce))).status)
})
