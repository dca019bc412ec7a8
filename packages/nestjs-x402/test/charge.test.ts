import type { PaymentRecord } from '../src/index.js'
import { payingFetch, receiptOf, signPayment } from './app/buyer.js'
import { DurableScriptedFacilitator } from './app/facilitator.js'
import { ADAPTERS, paid, runs, type Seller, startSeller } from './app/seller.js'

describe.each(ADAPTERS)('the charge of a paid request on %s', (adapter) => {
  let seller: Seller
  let facilitator: DurableScriptedFacilitator
  let records: PaymentRecord[]
  const buy = payingFetch()

  beforeAll(async () => {
    facilitator = new DurableScriptedFacilitator()
    seller = await startSeller(facilitator, {
      adapter,
      onPayment: (record) => records.push(record),
      routes: {
        'GET /work': paid({
          timeout: 400,
          charge: { ...paid().charge, failure: { '4xx': '$0.01', '5xx': 'nothing' }, invalid: 'maximum' },
        }),
        'GET /work/parameter': paid(),
        'GET /work/abortable': paid(),
        'GET /work/outlasting': paid(),
        'GET /work/header': paid({ charge: { ...paid().charge, invalid: 'maximum' } }),
        'GET /work/items/:id': paid({ charge: { ...paid().charge, unset: '$0.04' } }),
        'POST /work/echo': paid({ charge: { ...paid().charge, unset: 'nothing' } }),
      },
    })
  })
  afterAll(() => seller.close())
  beforeEach(() => {
    runs.length = 0
    records = []
    facilitator.settled.length = 0
    facilitator.released.length = 0
  })
  const charged = () => facilitator.settled.map(({ amount }) => amount)

  it.each([
    ['$0.03', '30000'],
    ['30000', '30000'],
    ['25%', '25000'],
    ['$0.10', '100000'],
    ['0', '0'],
  ])('is the amount that the handler sets: %s → %s', async (charge, amount) => {
    const response = await buy(`${seller.url}/work?charge=${encodeURIComponent(charge)}`)
    expect(response.status).toBe(200)
    expect(await response.json()).toEqual({ charge })
    expect(charged()).toEqual([amount])
    expect(receiptOf(response)).toMatchObject({ success: true, amount })
    expect(response.headers.get('cache-control')).toContain('private')
  })

  it('is the amount that a handler sets through @Payment()', async () => {
    const response = await buy(`${seller.url}/work/parameter`)
    expect(await response.json()).toEqual({
      maximum: '100000',
      payer: '0x70997970C51812dc3A010C7d01b50e0d17dc79C8',
    })
    expect(charged()).toEqual(['20000'])
  })

  it('is not mixed up between 20 concurrent requests', async () => {
    const amounts = Array.from({ length: 20 }, (_, index) => String(1000 + index))
    const answers = await Promise.all(
      amounts.map((amount, index) => buy(`${seller.url}/work?charge=${amount}&slow=${(index * 7) % 50}`)),
    )
    expect(answers.map((answer) => receiptOf(answer)?.amount)).toEqual(amounts)
    expect(charged().sort()).toEqual(amounts)
  })

  it.each([
    ['{"amount":"$0.03"}', '30000'],
    ['{"amount":"50%"}', '50000'],
    ['{}', '100000'],
    ['no json', '100000'],
    ['{"amount":5}', '100000'],
  ])('follows the Settlement-Overrides header of @x402/core: %s → %s', async (value, amount) => {
    const response = await buy(`${seller.url}/work/header?value=${encodeURIComponent(value)}`)
    expect(response.status).toBe(200)
    expect(response.headers.get('settlement-overrides')).toBeNull()
    expect(charged()).toEqual([amount])
  })

  it.each(['100001', '$0.100001', '-5', '$-0.01', 'a lot', '1e3', '0x10', '', '101%'])(
    'is the maximum if the handler sets %p, and the answer is delivered',
    async (charge) => {
      const response = await buy(`${seller.url}/work?charge=${encodeURIComponent(charge)}`)
      expect(response.status).toBe(200)
      expect(await response.json()).toEqual({ charge })
      expect(charged()).toEqual(['100000'])
      expect(records[0]).toMatchObject({ reason: 'invalid', amount: 100_000n })
    },
  )

  it('follows charge.unset if the handler sets nothing', async () => {
    await buy(`${seller.url}/work`)
    await buy(`${seller.url}/work/items/7`)
    const free = await buy(`${seller.url}/work/echo`, {
      method: 'POST',
      body: '{"a":1}',
      headers: { 'content-type': 'application/json' },
    })
    expect(await free.json()).toEqual({ a: 1 })
    expect(charged()).toEqual(['100000', '40000'])
    expect(facilitator.released).toEqual(['unset'])
  })

  it('follows charge.failure separately for 4xx and 5xx', async () => {
    const refused = await buy(`${seller.url}/work?charge=$0.03&fail=404`)
    expect(refused.status).toBe(404)
    expect(receiptOf(refused)).toMatchObject({ success: true, amount: '10000' })
    const failed = await buy(`${seller.url}/work?charge=$0.03&fail=500`)
    expect(failed.status).toBe(500)
    expect(receiptOf(failed)).toMatchObject({ success: true, amount: '0', transaction: '' })
    expect(charged()).toEqual(['10000'])
    expect(facilitator.released).toEqual(['failure'])
  })

  it('follows charge.timeout and answers 504 if the handler takes too long', async () => {
    const response = await buy(`${seller.url}/work?charge=$0.03&slow=1000`)
    expect(response.status).toBe(504)
    expect(await response.json()).toMatchObject({ error: 'handler_timeout' })
    expect(facilitator.released).toEqual(['timeout'])
    expect(charged()).toEqual([])
  })

  it('follows charge.partial if the client disconnects', async () => {
    const payment = await signPayment(`${seller.url}/work/outlasting`)
    const control = new AbortController()
    const request = fetch(`${seller.url}/work/outlasting`, {
      headers: { 'PAYMENT-SIGNATURE': payment },
      signal: control.signal,
    })
    while (runs.length === 0) await new Promise((resolve) => setTimeout(resolve, 5))
    control.abort()
    await expect(request).rejects.toThrow()
    while (records.length === 0) await new Promise((resolve) => setTimeout(resolve, 5))
    expect(records[0]).toMatchObject({ reason: 'partial', amount: 100_000n })
    expect(charged()).toEqual(['100000'])
  })

  it('follows charge.partial if the handler aborts because the client disconnected', async () => {
    const payment = await signPayment(`${seller.url}/work/abortable`)
    const control = new AbortController()
    const request = fetch(`${seller.url}/work/abortable`, {
      headers: { 'PAYMENT-SIGNATURE': payment },
      signal: control.signal,
    })
    while (runs.length === 0) await new Promise((resolve) => setTimeout(resolve, 5))
    control.abort()
    await expect(request).rejects.toThrow()
    while (records.length === 0) await new Promise((resolve) => setTimeout(resolve, 5))
    expect(records[0]).toMatchObject({ reason: 'partial', amount: 100_000n })
  })

  it('is nothing if settling fails, and the answer is not sent', async () => {
    facilitator.onSettle = async ({ network }) => ({
      success: false,
      errorReason: 'permit2_insufficient_balance',
      transaction: '',
      network,
    })
    const response = await buy(`${seller.url}/work?charge=$0.03`)
    facilitator.onSettle = new DurableScriptedFacilitator().onSettle
    expect(response.status).toBe(402)
    expect(receiptOf(response)).toMatchObject({
      success: false,
      errorReason: 'permit2_insufficient_balance',
      transaction: '',
    })
    expect(await response.text()).not.toContain('"charge"')
  })

  it('is reported as settlement_pending if the outcome is unknown', async () => {
    facilitator.onSettle = () => Promise.reject(new Error('socket hang up'))
    const response = await buy(`${seller.url}/work?charge=$0.03`)
    facilitator.onSettle = new DurableScriptedFacilitator().onSettle
    expect(response.status).toBe(402)
    expect(receiptOf(response)).toMatchObject({ success: false, errorReason: 'settlement_pending', amount: '30000' })
    expect(records[0]).toMatchObject({ outcome: 'pending' })
  })
})

describe('an invalid amount without charge.invalid', () => {
  it('charges nothing and answers 500 invalid_settlement_amount', async () => {
    const facilitator = new DurableScriptedFacilitator()
    const seller = await startSeller(facilitator, {
      routes: { 'GET /work': paid() },
    })
    const response = await payingFetch()(`${seller.url}/work?charge=$5`)
    expect(response.status).toBe(500)
    expect(await response.json()).toMatchObject({ error: 'invalid_settlement_amount' })
    expect(facilitator.released).toEqual(['invalid'])
    expect(facilitator.settled).toEqual([])
    await seller.close()
  })
})
