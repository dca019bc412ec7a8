import { createTestClient, http, publicActions } from 'viem'
import { balanceOf, buyer, receiptOf } from './buyer.js'
import { type LossyProxy, startLossyProxy } from './lossy-proxy.js'
import { type Stand, startStand, stores } from './stand.js'

const { pay, sign } = buyer('0x59c6995e998f97a5a0044966f0945389dc9e86dae88c7a8412f4603b6b78690d')

describe.each(stores())('billing is unreachable or killed, on $name', (store) => {
  const test = store.missing === null ? it : it.skip
  let stand: Stand
  let url: string
  /** How many answers to drop, by path. */
  const lost = new Map<string, number>()
  const isLost = (path: string) => {
    const verb = [...lost.keys()].find((each) => path.endsWith(each)) ?? ''
    const left = lost.get(verb) ?? 0
    lost.set(verb, left - 1)
    return left > 0
  }
  let proxy: LossyProxy

  beforeAll(async () => {
    if (store.missing !== null) return console.warn(`skipped: ${store.missing}`)
    stand = await startStand(store, {
      sellers: 2,
      lastSeller: { RECEIPT_WAIT_MS: '500', ACKNOWLEDGEMENT_WAIT_MS: '500' },
      billingUrl: async (real) => {
        proxy = await startLossyProxy(real, isLost)
        return proxy.url
      },
    })
    url = `${stand.seller.url}/metered`
  }, 120_000)
  afterAll(async () => {
    await stand?.stop()
    proxy?.close()
  })

  const sellerHas = () => balanceOf(stand.devnet.rpcUrl, stand.devnet.accounts.seller.address)
  const until = async (condition: () => Promise<boolean>) => {
    while (!(await condition())) await new Promise((resolve) => setTimeout(resolve, 100))
  }

  test('a charge whose acknowledgement is lost is repeated with the same key, and transferred once', async () => {
    const had = await sellerHas()
    lost.set('/charge', 2)
    const response = await pay(`${url}?charge=$0.03`)
    expect(receiptOf(response)).toMatchObject({ success: true, amount: '30000' })
    expect((await sellerHas()) - had).toBe(30_000n)
  })

  test('an authorization whose acknowledgement is lost serves its buyer once', async () => {
    lost.set('/internal/payments', 1)
    const response = await pay(`${url}?charge=$0.01`)
    expect(response.status).toBe(200)
  })

  test('while billing is down, a request gets 503 with Retry-After, and the handler does not run', async () => {
    const [payment, before] = [await sign(url), await stand.runs()]
    await stand.billing.kill()
    const response = await fetch(`${url}?charge=$0.03`, payment)
    expect(response.status).toBe(503)
    expect(Number(response.headers.get('retry-after'))).toBeGreaterThan(0)
    expect(await stand.runs()).toBe(before)
    await stand.billing.start()
  })

  test('billing killed while the handler runs: the charge settles after the restart, and the answer follows', async () => {
    const [had, before] = [await sellerHas(), await stand.runs()]
    await until(async () => (await fetch(url, await sign(url))).status === 200)
    const base = (await sellerHas()) - had
    const payment = await sign(url)
    const ask = () => fetch(`${url}?charge=$0.02&slowMs=1500`, payment)
    const answer = ask()
    await until(async () => (await stand.runs()) >= before + 2)
    await stand.billing.kill()
    const response = await answer
    expect(response.status).toBe(402)
    expect(receiptOf(response)).toMatchObject({ success: false, errorReason: 'settlement_pending', amount: '20000' })
    await stand.billing.start()
    await until(async () => (await sellerHas()) - had === base + 20_000n)
    const paid = await ask()
    expect([paid.status, await paid.json()]).toMatchObject([200, { charge: '$0.02' }])
    expect(receiptOf(paid)).toMatchObject({ success: true, amount: '20000' })
    expect(await stand.runs()).toBe(before + 2)
  })

  test('billing killed between broadcast and receipt: the charge settles once, in one transaction', async () => {
    const chain = createTestClient({ mode: 'anvil', transport: http(stand.devnet.rpcUrl) }).extend(publicActions)
    const { address } = stand.devnet.accounts.facilitators[0]
    const had = await sellerHas()
    const sentBefore = await chain.getTransactionCount({ address })
    await chain.setAutomine(false)
    try {
      // The seller with short waits: the receipt can't come.
      const answer = pay(`${stand.sellers[1]?.url}/metered?charge=$0.04`)
      await until(async () => (await chain.getTransactionCount({ address, blockTag: 'pending' })) > sentBefore)
      await stand.billing.kill()
      await stand.billing.start()
      const response = await answer
      expect(response.status).toBe(402)
      expect(receiptOf(response)).toMatchObject({ errorReason: 'settlement_pending', amount: '40000' })
    } finally {
      await chain.mine({ blocks: 1 })
      await chain.setAutomine(true)
    }
    await until(async () => (await stand.payments())[0]?.state === 'settled')
    expect((await sellerHas()) - had).toBe(40_000n)
    expect(await chain.getTransactionCount({ address })).toBe(sentBefore + 1)
  })
})
