import { setTimeout as sleep } from 'node:timers/promises'
import { createPublicClient, http } from 'viem'
import { balanceOf, buyer, receiptOf, type SignedRequest, signedRequest } from './buyer.js'
import { type Stand, startStand, stores } from './stand.js'

const { sign } = buyer('0x59c6995e998f97a5a0044966f0945389dc9e86dae88c7a8412f4603b6b78690d')

/** PGlite allows one billing process: there only the sellers are replicated, and the process has both signers. */
const layouts = stores().map((store) => ({ store, signers: store.name === 'PGlite' ? [[0, 1]] : [[0], [1]] }))

describe.each(layouts)(
  'two sellers, with billing processes of the signers $signers on $store.name',
  ({ store, signers }) => {
    const test = store.missing === null ? it : it.skip
    let stand: Stand

    beforeAll(async () => {
      if (store.missing !== null) return console.warn(`skipped: ${store.missing}`)
      stand = await startStand(store, { signers, sellers: 2 })
    }, 120_000)
    afterAll(() => stand?.stop(), 30_000)

    const urls = () => stand.sellers.map(({ url }) => `${url}/metered`) as [string, string]
    const sellerHas = () => balanceOf(stand.devnet.rpcUrl, stand.devnet.accounts.seller.address)

    test('accept payments for each other’s offers', async () => {
      const [first, second] = urls()
      for (const [asked, paid] of [
        [first, second],
        [second, first],
      ] as const) {
        const had = await sellerHas()
        const response = await fetch(`${paid}?charge=$0.02`, await sign(asked))
        expect(response.status).toBe(200)
        expect(receiptOf(response)).toMatchObject({ success: true, amount: '20000' })
        expect((await sellerHas()) - had).toBe(20_000n)
      }
    })

    test('spread their offers over the signers, and each signer settles the payments that name it', async () => {
      const requests = Array.from({ length: 24 }, (_, index) => urls()[index % 2] as string)
      const signed = await Promise.all(requests.map(async (url) => [url, await sign(url)] as const))
      const answers = await Promise.all(signed.map(([url, payment]) => buy(`${url}?charge=$0.001`, payment)))
      expect(answers.map(({ status }) => status)).toEqual(requests.map(() => 200))
      const { accounts, rpcUrl } = stand.devnet
      const client = createPublicClient({ transport: http(rpcUrl) })
      const senders = await Promise.all(
        answers.map(async (answer) => {
          const hash = receiptOf(answer).transaction as `0x${string}`
          return (await client.getTransaction({ hash })).from
        }),
      )
      expect(senders).toEqual(signed.map(([, payment]) => facilitatorOf(payment)))
      const expected = accounts.facilitators.slice(0, 2).map(({ address }) => address.toLowerCase())
      expect(new Set(senders)).toEqual(new Set(expected))
    })

    test('serve an authorization once between them, even for concurrent requests at no charge', async () => {
      const [first, second] = urls()
      const [before, payment] = [await stand.runs(), await sign(first)]
      const answers = await Promise.all(
        Array.from({ length: 20 }, (_, index) => fetch(`${index % 2 === 0 ? first : second}?charge=0`, payment)),
      )
      expect(answers.filter(({ status }) => status === 200)).toHaveLength(1)
      expect((await stand.runs()) - before).toBe(1)
      for (const url of urls()) expect((await fetch(`${url}?charge=0`, payment)).status).toBe(402)
    })

    test('serve one of two payments with one payment identifier, and answer the other 409', async () => {
      const id = `pay_${crypto.randomUUID()}`
      const payments = await Promise.all(urls().map(async (url) => identified(await sign(url), id)))
      const [runs, had] = [await stand.runs(), await sellerHas()]
      const answers = await Promise.all(urls().map((url, index) => buy(`${url}?charge=$0.001`, payments[index]!)))
      expect(answers.map(({ status }) => status).sort()).toEqual([200, 409])
      const refused = answers.find(({ status }) => status === 409)
      expect(await refused?.json()).toMatchObject({ error: 'payment_conflict' })
      // Also after the first was served, on either.
      for (const url of urls()) {
        const late = await buy(`${url}?charge=$0.001`, identified(await sign(url), id))
        expect([late.status, await late.json()]).toMatchObject([409, { error: 'payment_conflict' }])
      }
      expect((await stand.runs()) - runs).toBe(1)
      expect((await sellerHas()) - had).toBe(1_000n)
    })
  },
)

/** Retries after a 503, with the same payment: on a busy machine the node may take longer than billing waits. */
async function buy(url: string, payment: SignedRequest): Promise<Response> {
  for (let attempt = 1; ; attempt++) {
    const response = await fetch(url, payment)
    if (response.status !== 503 || attempt === 20) return response
    await sleep(500)
  }
}

function facilitatorOf(payment: SignedRequest): string {
  return payloadOf(payment).payload.permit2Authorization.witness.facilitator.toLowerCase()
}

/** The payment with this id in x402's `payment-identifier` extension, which is not signed. */
function identified(payment: SignedRequest, id: string): SignedRequest {
  return signedRequest({
    ...payloadOf(payment),
    extensions: { 'payment-identifier': { info: { required: false, id } } },
  })
}

function payloadOf({ headers }: SignedRequest) {
  return JSON.parse(Buffer.from(headers['PAYMENT-SIGNATURE'], 'base64').toString('utf8'))
}
