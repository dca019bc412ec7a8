import { DEVNET_ACCOUNTS, fundBuyer } from '@upfront/devnet'
import { decodePaymentRequiredHeader } from '@x402/core/http'
import { balanceOf, buyer, receiptOf, signedRequest } from './buyer.js'
import { type Stand, startStand, stores } from './stand.js'

describe.each(stores())('the metered seller, with billing on $name', (store) => {
  const test = store.missing === null ? it : it.skip
  let stand: Stand
  let url: string
  let runsBefore: number
  let sellerHad: bigint

  beforeAll(async () => {
    if (store.missing !== null) return console.warn(`skipped: ${store.missing}`)
    stand = await startStand(store)
    url = `${stand.seller.url}/metered`
  }, 120_000)
  afterAll(() => stand?.stop(), 30_000)
  beforeEach(async () => {
    if (store.missing !== null) return
    runsBefore = await stand.runs()
    sellerHad = await sellerHas()
  })

  const sellerHas = () => balanceOf(stand.devnet.rpcUrl, stand.devnet.accounts.seller.address)
  const earned = async () => (await sellerHas()) - sellerHad
  const ran = async () => (await stand.runs()) - runsBefore
  const { pay, sign } = buyer('0x59c6995e998f97a5a0044966f0945389dc9e86dae88c7a8412f4603b6b78690d')

  test.each([
    ['charge=$0.03', 30_000n],
    ['charge=30000', 30_000n],
    ['charge=$0.10', 100_000n],
    ['', 100_000n],
    ['charge=$0.20', 100_000n],
    ['charge=-1', 100_000n],
    ['charge=lots', 100_000n],
  ])('?%s charges %s', async (query, amount) => {
    const response = await pay(`${url}?${query}`)
    expect(response.status).toBe(200)
    expect(receiptOf(response)).toMatchObject({ success: true, amount: String(amount) })
    expect([await ran(), await earned()]).toEqual([1, amount])
  })

  test.each([404, 500])('a handler that fails with %s costs nothing, and uses its authorization up', async (status) => {
    const payment = await sign(url)
    expect((await fetch(`${url}?charge=$0.03&fail=${status}`, payment)).status).toBe(status)
    expect((await fetch(`${url}?charge=$0.03`, payment)).status).toBe(402)
    expect([await ran(), await earned()]).toEqual([1, 0n])
  })

  test('a zero charge uses its authorization up', async () => {
    const payment = await sign(url)
    expect((await fetch(`${url}?charge=0`, payment)).status).toBe(200)
    for (const method of ['GET', 'HEAD']) {
      expect((await fetch(`${url}?charge=0`, { ...payment, method })).status).toBe(402)
    }
    expect([await ran(), await earned()]).toEqual([1, 0n])
  })

  test('100 parallel uses of one authorization run the handler once and transfer one charge', async () => {
    const payment = await sign(url)
    const answers = await Promise.all(Array.from({ length: 100 }, () => fetch(`${url}?charge=$0.01`, payment)))
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1)
    expect(answers.filter(({ status }) => status === 402)).toHaveLength(99)
    expect([await ran(), await earned()]).toEqual([1, 10_000n])
  })

  test('5 authorizations on a balance that covers one run the handler once', async () => {
    const poor = DEVNET_ACCOUNTS[8]!
    await fundBuyer(stand.devnet.rpcUrl, poor, { amount: 150_000n })
    const { sign: signPoor } = buyer(poor.privateKey)
    const payments = await Promise.all(Array.from({ length: 5 }, () => signPoor(url)))
    const answers = await Promise.all(payments.map((payment) => fetch(`${url}?charge=$0.10&slowMs=300`, payment)))
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 402, 402, 402, 402])
    expect([await ran(), await earned()]).toEqual([1, 100_000n])
  })

  test('an unpaid HEAD runs nothing', async () => {
    expect((await fetch(url, { method: 'HEAD' })).status).toBe(402)
    expect(await ran()).toBe(0)
  })

  test('an authorization that could end while the handler runs is refused before it runs', async () => {
    const response = await fetch(`${url}?charge=$0.03`, await sign(url, { validSeconds: 15 }))
    expect(response.status).toBe(402)
    expect(await response.json()).toMatchObject({ error: 'permit2_deadline_expired' })
    expect([await ran(), await earned()]).toEqual([0, 0n])
  })

  test('a forged payment does not run the handler, and the answer contains no library text', async () => {
    const payload = JSON.parse(Buffer.from((await sign(url)).headers['PAYMENT-SIGNATURE'], 'base64').toString())
    payload.payload.permit2Authorization.nonce = '7'
    const response = await fetch(`${url}?charge=$0.03`, signedRequest(payload))
    expect(response.status).toBe(402)
    const required = decodePaymentRequiredHeader(response.headers.get('payment-required') ?? '')
    expect(required.error).toBe('invalid_permit2_signature')
    expect(await response.text()).not.toMatch(/viem|Error:|Request body/)
    expect([await ran(), await earned()]).toEqual([0, 0n])
  })

  test('a client that disconnects pays the maximum, as charge.partial says', async () => {
    const control = new AbortController()
    const request = fetch(`${url}?charge=$0.03&slowMs=500`, { ...(await sign(url)), signal: control.signal })
    while ((await ran()) === 0) await new Promise((resolve) => setTimeout(resolve, 20))
    control.abort()
    await expect(request).rejects.toThrow()
    while ((await earned()) === 0n) await new Promise((resolve) => setTimeout(resolve, 50))
    expect(await earned()).toBe(100_000n)
  })

  test('50 distinct authorizations at concurrency 10 are all settled', async () => {
    const queue = Array.from({ length: 50 }, (_, index) => index)
    const amounts: (string | undefined)[] = []
    const worker = async () => {
      for (let next = queue.pop(); next !== undefined; next = queue.pop()) {
        amounts.push(receiptOf(await pay(`${url}?charge=1000`)).amount)
      }
    }
    await Promise.all(Array.from({ length: 10 }, worker))
    expect(amounts).toEqual(Array.from({ length: 50 }, () => '1000'))
    expect([await ran(), await earned()]).toEqual([50, 50_000n])
  })
})
