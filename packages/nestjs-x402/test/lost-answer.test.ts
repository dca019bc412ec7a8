import { once } from 'node:events'
import { request } from 'node:http'
import type { Socket } from 'node:net'
import { decodePaymentRequiredHeader } from '@x402/core/http'
import { buyerClient, receiptOf, signPayment } from './app/buyer.js'
import { DurableScriptedFacilitator } from './app/facilitator.js'
import { ADAPTERS, paid, runs, type Seller, startSeller } from './app/seller.js'

const until = async (condition: () => boolean) => {
  while (!condition()) await new Promise((resolve) => setTimeout(resolve, 5))
}

describe.each(ADAPTERS)('an answer that was paid for but lost on %s', (adapter) => {
  let seller: Seller
  let facilitator: DurableScriptedFacilitator
  /** Called by the test to store the charge. */
  let store: () => void

  beforeAll(async () => {
    facilitator = new DurableScriptedFacilitator()
    seller = await startSeller(facilitator, {
      adapter,
      routes: {
        'GET /work': paid(),
        'GET /work/raw': paid(),
        'GET /work/abortable': paid(),
        'POST /work/echo': paid(),
      },
    })
  })
  afterAll(() => seller.close())
  beforeEach(() => {
    runs.length = 0
    facilitator.settled.length = 0
    const { onSettle } = new DurableScriptedFacilitator()
    const used = new Set<string>()
    facilitator.onSettle = onSettle
    facilitator.onVerify = async ({ payload }) => {
      const { nonce } = (payload as { permit2Authorization: { nonce: string } }).permit2Authorization
      const isValid = !used.has(nonce)
      used.add(nonce)
      return isValid ? { isValid } : { isValid, invalidReason: 'permit2_invalid_nonce' }
    }
  })

  function holdSettlement() {
    const { onSettle } = facilitator
    facilitator.onSettle = (requirements) =>
      new Promise((resolve) => {
        store = () => resolve(onSettle(requirements))
      })
  }

  const ask = (payment: string, path = '/work?charge=$0.03', init: RequestInit = {}) =>
    fetch(seller.url + path, { ...init, headers: { ...init.headers, 'PAYMENT-SIGNATURE': payment } })

  /** Requests, and disconnects while the charge settles. */
  async function leaveDuringSettlement(payment: string, path = '/work?charge=$0.03') {
    holdSettlement()
    const connected = once(seller.app.getHttpServer(), 'connection')
    const asked = request(seller.url + path, { agent: false, headers: { 'PAYMENT-SIGNATURE': payment } })
    asked.on('error', () => undefined).end()
    const [connection] = (await connected) as [Socket]
    await until(() => facilitator.settled.length === 1)
    const closed = once(connection, 'close')
    asked.destroy()
    await closed
  }

  async function identified(id: string, path = '/work?charge=$0.03'): Promise<string> {
    const offer = await fetch(seller.url + path)
    const required = decodePaymentRequiredHeader(offer.headers.get('payment-required') ?? '')
    const payload = await buyerClient().createPaymentPayload(required)
    const extensions = { 'payment-identifier': { info: { required: false, id } } }
    return Buffer.from(JSON.stringify({ ...payload, extensions })).toString('base64')
  }

  it.each([
    ['/work?charge=$0.03', '{"charge":"$0.03"}', '30000'],
    ['/work/raw', 'by hand', '1'],
  ])('is charged once as metered, and returned again for the same payment: %s', async (path, body, amount) => {
    const payment = await signPayment(seller.url + path)
    await leaveDuringSettlement(payment, path)
    store()
    for (let fetched = 0; fetched < 2; fetched++) {
      const again = await ask(payment, path)
      expect([again.status, await again.text()]).toEqual([200, body])
      expect(receiptOf(again)).toMatchObject({ success: true, amount })
      if (path === '/work/raw') expect(again.headers.get('x-handler')).toBe('raw')
    }
    expect(facilitator.settled.map((settled) => settled.amount)).toEqual([amount])
    expect(runs).toHaveLength(1)
  })

  it('is awaited by a repeat while its payment still settles', async () => {
    const payment = await signPayment(`${seller.url}/work`)
    await leaveDuringSettlement(payment)
    const again = ask(payment)
    await new Promise((resolve) => setTimeout(resolve, 20))
    store()
    expect(await (await again).json()).toEqual({ charge: '$0.03' })
    expect(runs).toHaveLength(1)
  })

  it('is refused for another request (409) or another signature (402)', async () => {
    const payment = await signPayment(`${seller.url}/work`)
    await leaveDuringSettlement(payment)
    store()
    const forged = JSON.parse(Buffer.from(payment, 'base64').toString())
    forged.payload.signature = `0x${'11'.repeat(65)}`
    expect((await ask(payment, '/work?charge=$0.05')).status).toBe(409)
    const refused = await ask(Buffer.from(JSON.stringify(forged)).toString('base64'))
    expect([refused.status, await refused.json()]).toMatchObject([402, { error: 'permit2_invalid_nonce' }])
    expect(runs).toHaveLength(1)
  })

  it('is not kept once it was delivered: a repeat gets 402', async () => {
    const payment = await signPayment(`${seller.url}/work`)
    expect(await (await ask(payment)).json()).toEqual({ charge: '$0.03' })
    expect((await ask(payment)).status).toBe(402)
    expect(runs).toHaveLength(1)
  })

  it('is not kept for a client that disconnected before the handler answered', async () => {
    const payment = await signPayment(`${seller.url}/work`)
    const control = new AbortController()
    const asked = ask(payment, '/work/abortable', { signal: control.signal })
    await until(() => runs.length === 1)
    control.abort()
    await expect(asked).rejects.toThrow()
    await until(() => facilitator.settled.length === 1)
    expect((await ask(payment, '/work/abortable')).status).toBe(402)
    expect(facilitator.settled.map(({ amount }) => amount)).toEqual(['100000'])
    expect(runs).toHaveLength(1)
  })

  it('is returned again for the same payment identifier, and refused with 409 for another payload', async () => {
    const id = `pay_${crypto.randomUUID()}`
    const payment = await identified(id)
    const first = await ask(payment)
    const second = await ask(payment)
    expect([second.status, await second.text()]).toEqual([200, await first.text()])
    expect(second.headers.get('payment-response')).toBe(first.headers.get('payment-response'))
    const conflict = await ask(await identified(id))
    expect(conflict.status).toBe(409)
    expect(await conflict.json()).toMatchObject({ error: 'payment_conflict' })
    expect(facilitator.released.at(-1)).toBe('identifier_taken')
    // A stranger does not learn that the identifier was used.
    facilitator.onVerify = async () => ({ isValid: false, invalidReason: 'invalid_permit2_signature' })
    const stranger = await ask(await identified(id))
    expect([stranger.status, await stranger.json()]).toMatchObject([402, { error: 'invalid_permit2_signature' }])
    expect(runs).toHaveLength(1)
    expect(facilitator.settled).toHaveLength(1)
  })

  it('runs its handler once for concurrent requests with one payment identifier', async () => {
    const payment = await identified(`pay_${crypto.randomUUID()}`)
    const answers = await Promise.all(Array.from({ length: 3 }, () => ask(payment, '/work?charge=$0.03&slow=50')))
    const served = answers.filter(({ status }) => status === 200)
    expect(served.length).toBeGreaterThan(0)
    expect((await ask(payment, '/work?charge=$0.03&slow=50')).status).toBe(200)
    expect(runs).toHaveLength(1)
  })

  it('serves one of two payments with one payment identifier that arrive at once, and answers the other 409', async () => {
    const id = `pay_${crypto.randomUUID()}`
    const payments = await Promise.all([identified(id), identified(id)])
    facilitator.released.length = 0
    // Neither is verified before both have arrived.
    const { length: before } = facilitator.verified
    facilitator.onVerify = async () => {
      await until(() => facilitator.verified.length === before + 2)
      return { isValid: true }
    }
    const answers = await Promise.all(payments.map((payment) => ask(payment, '/work?charge=$0.03&slow=50')))
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 409])
    expect(facilitator.released).toEqual(['identifier_taken'])
    expect(facilitator.settled).toHaveLength(1)
    expect(runs).toHaveLength(1)
  })

  it('is neither kept nor promised if answers.seconds is 0', async () => {
    const forgetful = await startSeller(facilitator, {
      adapter,
      routes: { 'GET /work': paid() },
      answers: { seconds: 0 },
    })
    try {
      const offer = await fetch(`${forgetful.url}/work`)
      const { extensions } = decodePaymentRequiredHeader(offer.headers.get('payment-required') ?? '')
      expect(extensions).toMatchObject({ 'charge-terms': { info: { answerSeconds: 0 } } })
      expect(extensions).not.toHaveProperty('payment-identifier')
      const headers = { 'PAYMENT-SIGNATURE': await identified(`pay_${crypto.randomUUID()}`) }
      expect((await fetch(`${forgetful.url}/work?charge=$0.03`, { headers })).status).toBe(200)
      expect((await fetch(`${forgetful.url}/work?charge=$0.03`, { headers })).status).toBe(402)
      expect(runs).toHaveLength(1)
    } finally {
      await forgetful.close()
    }
  })

  it('is refused with 409 for another request body', async () => {
    const path = '/work/echo'
    const post = (body: string) => ({ method: 'POST', body, headers: { 'content-type': 'application/json' } })
    const offer = await fetch(seller.url + path, post('{}'))
    const required = decodePaymentRequiredHeader(offer.headers.get('payment-required') ?? '')
    const payload = await buyerClient().createPaymentPayload(required)
    const extensions = { 'payment-identifier': { info: { required: false, id: `pay_${crypto.randomUUID()}` } } }
    const payment = Buffer.from(JSON.stringify({ ...payload, extensions })).toString('base64')
    const echo = (body: string) => ask(payment, path, post(body))
    expect(await (await echo('{"a":1}')).json()).toEqual({ a: 1 })
    expect(await (await echo('{"a":1}')).json()).toEqual({ a: 1 })
    expect((await echo('{"a":2}')).status).toBe(409)
  })

  it.each(['short', 'with spaces and more', 5, 'x'.repeat(129)])(
    'an invalid payment identifier is refused: %p',
    async (id) => {
      const response = await ask(await identified(id as string))
      expect(response.status).toBe(402)
      expect(((await response.json()) as { message: string }).message).toContain(
        'extensions.payment-identifier.info.id',
      )
    },
  )
})
