import type { PaymentPayload, SettleResponse } from '@x402/core/types'
import { receiptOf, signPayment } from './app/buyer.js'
import { DurableScriptedFacilitator, NETWORK } from './app/facilitator.js'
import { ADAPTERS, paid, runs, type Seller, startSeller } from './app/seller.js'

const HASH = `0x${'ab'.repeat(32)}`

describe.each(ADAPTERS)('an answer whose payment is not settled, on %s', (adapter) => {
  let seller: Seller
  let facilitator: DurableScriptedFacilitator
  /** How a charge ends: `settled`, or an x402 reason. */
  let outcome = 'settled'

  beforeAll(async () => {
    facilitator = new DurableScriptedFacilitator()
    facilitator.onSettle = async ({ amount }): Promise<SettleResponse> => {
      const receipt = { network: NETWORK, amount, transaction: HASH } as const
      return outcome === 'settled'
        ? { ...receipt, success: true }
        : { ...receipt, success: false, errorReason: outcome }
    }
    seller = await startSeller(facilitator, {
      adapter,
      routes: {
        'GET /work': paid(),
        'GET /work/parameter': paid({ onPending: 'deliver' }),
        'GET /work/stream': paid({ holdBytes: 1_500 }),
      },
    })
  })
  afterAll(() => seller.close())
  beforeEach(() => {
    runs.length = 0
    facilitator.settled.length = 0
  })
  const ask = (payment: string, path: string) =>
    fetch(`${seller.url}${path}`, { headers: { 'PAYMENT-SIGNATURE': payment } })
  const sign = (path: string) => signPayment(`${seller.url}${path}`)

  it.each(['settlement_pending', 'settlement_doubtful'])(
    'is withheld while the reason is %s, and returned for the same payment once it is settled',
    async (reason) => {
      const payment = await sign('/work?charge=$0.03')
      outcome = reason
      for (let asked = 0; asked < 2; asked++) {
        const unpaid = await ask(payment, '/work?charge=$0.03')
        expect(unpaid.status).toBe(402)
        expect(Number(unpaid.headers.get('retry-after'))).toBeGreaterThan(0)
        expect(receiptOf(unpaid)).toMatchObject({ success: false, errorReason: reason, amount: '30000' })
        const text = await unpaid.text()
        expect(JSON.parse(text)).toMatchObject({ error: reason, message: expect.stringContaining('same payment') })
        expect(text).not.toContain('"charge"')
      }
      outcome = 'settled'
      expect((await ask(payment, '/work?charge=$0.05')).status).toBe(409)
      const response = await ask(payment, '/work?charge=$0.03')
      expect([response.status, await response.json()]).toEqual([200, { charge: '$0.03' }])
      expect(receiptOf(response)).toMatchObject({ success: true, amount: '30000', transaction: HASH })
      expect(runs).toEqual(['metered $0.03'])
      expect(new Set(facilitator.settled.map(({ amount }) => amount))).toEqual(new Set(['30000']))
    },
  )

  it('is returned by another process of the seller if the facilitator stores it', async () => {
    const kept = new Map<string, string>()
    const ofNonce = ({ payload }: PaymentPayload) =>
      (payload as { permit2Authorization: { nonce: string } }).permit2Authorization.nonce
    Object.assign(facilitator, {
      keepAnswer: async (payload: PaymentPayload, answer: string) => Boolean(kept.set(ofNonce(payload), answer)),
      findAnswer: async (payload: PaymentPayload) => kept.get(ofNonce(payload)),
    })
    const other = await startSeller(facilitator, { adapter, routes: { 'GET /work': paid() } })
    const onVerify = facilitator.onVerify
    try {
      const payment = await sign('/work?charge=$0.03')
      const askOther = (path: string) => fetch(`${other.url}${path}`, { headers: { 'PAYMENT-SIGNATURE': payment } })
      outcome = 'settlement_pending'
      expect((await ask(payment, '/work?charge=$0.03')).status).toBe(402)
      facilitator.onVerify = async () => ({ isValid: false, invalidReason: 'permit2_invalid_nonce' })
      const unpaid = await askOther('/work?charge=$0.03')
      expect([unpaid.status, await unpaid.json()]).toMatchObject([402, { error: 'settlement_pending' }])
      outcome = 'settled'
      expect((await askOther('/work?charge=$0.05')).status).toBe(409)
      const response = await askOther('/work?charge=$0.03')
      expect([response.status, await response.json()]).toEqual([200, { charge: '$0.03' }])
      expect(receiptOf(response)).toMatchObject({ success: true, amount: '30000', transaction: HASH })
      expect(runs).toEqual(['metered $0.03'])
      // Another signature with the same nonce does not get it.
      const signed = JSON.parse(Buffer.from(payment, 'base64').toString())
      signed.payload.signature = `0x${'11'.repeat(65)}`
      const forged = Buffer.from(JSON.stringify(signed)).toString('base64')
      const refused = await fetch(`${other.url}/work?charge=$0.03`, { headers: { 'PAYMENT-SIGNATURE': forged } })
      expect(refused.status).toBe(402)
    } finally {
      facilitator.onVerify = onVerify
      await other.close()
    }
  })

  it('is never returned if the payment fails', async () => {
    const payment = await sign('/work?charge=$0.03')
    outcome = 'settlement_doubtful'
    expect((await ask(payment, '/work?charge=$0.03')).status).toBe(402)
    outcome = 'permit2_nonce_invalidated'
    for (let asked = 0; asked < 2; asked++) {
      const failed = await ask(payment, '/work?charge=$0.03')
      expect([failed.status, await failed.json()]).toMatchObject([402, { error: 'permit2_nonce_invalidated' }])
    }
    expect(runs).toHaveLength(1)
  })

  it('is returned to 10 concurrent repeats with one call to the facilitator', async () => {
    const payment = await sign('/work?charge=$0.03')
    outcome = 'settlement_pending'
    await ask(payment, '/work?charge=$0.03')
    outcome = 'settled'
    const answers = await Promise.all(Array.from({ length: 10 }, () => ask(payment, '/work?charge=$0.03')))
    expect(answers.map(({ status }) => status)).toEqual(Array(10).fill(200))
    expect(facilitator.settled).toHaveLength(2)
    expect(runs).toHaveLength(1)
  })

  it('is kept until it is fetched: further answers wait for their payments where withheld ones fill the store', async () => {
    const full = await startSeller(facilitator, { adapter, routes: { 'GET /work': paid() }, answers: { bytes: 5_000 } })
    try {
      const askFull = (payment: string) =>
        fetch(`${full.url}/work?charge=$0.03`, { headers: { 'PAYMENT-SIGNATURE': payment } })
      const payments = await Promise.all([1, 2, 3].map(() => signPayment(`${full.url}/work?charge=$0.03`)))
      const [first, second, third] = payments as [string, string, string]
      outcome = 'settlement_pending'
      expect([(await askFull(first)).status, (await askFull(second)).status]).toEqual([402, 402])
      facilitator.settled.length = 0
      const waiting = askFull(third)
      let waits = true
      void waiting.then(() => (waits = false))
      while (waits && facilitator.settled.length < 2) await new Promise((resolve) => setTimeout(resolve, 5))
      outcome = 'settled'
      const statuses = [(await waiting).status, (await askFull(first)).status, (await askFull(second)).status]
      expect([statuses, runs.length]).toEqual([[200, 200, 200], 3])
    } finally {
      await full.close()
    }
  }, 20_000)

  it('is delivered while pending if onPending is deliver, but never while doubtful', async () => {
    outcome = 'settlement_pending'
    const delivered = await ask(await sign('/work/parameter'), '/work/parameter')
    expect([delivered.status, await delivered.json()]).toMatchObject([200, { maximum: '100000' }])
    expect(receiptOf(delivered)).toMatchObject({ success: false, errorReason: 'settlement_pending' })
    outcome = 'settlement_doubtful'
    const doubtful = await ask(await sign('/work/parameter'), '/work/parameter')
    expect(doubtful.status).toBe(402)
    expect(receiptOf(doubtful)).toMatchObject({ success: false, errorReason: 'settlement_doubtful' })
  })

  it('is delayed until the payment is settled if it is longer than holdBytes', async () => {
    outcome = 'settlement_pending'
    const payment = await sign('/work/stream?chunks=3')
    const streamed = ask(payment, '/work/stream?chunks=3')
    while (facilitator.settled.length < 2) await new Promise((resolve) => setTimeout(resolve, 5))
    outcome = 'settled'
    const response = await streamed
    expect([response.status, (await response.text()).length]).toEqual([200, 3_000])
    expect(receiptOf(response)).toMatchObject({ success: true })
  })
})

it.each([
  ['deliver', 12, 1],
  ['deliver', 2, 0],
  ['withhold', 12, 0],
] as const)('onPending %s with blocks of %d s logs %d warnings', async (onPending, blockSeconds, times) => {
  const facilitator = Object.assign(new DurableScriptedFacilitator(), {
    settlementTimes: async () => ({ blockSeconds, waitSeconds: 10 }),
  })
  const warnings: unknown[] = []
  const seller = await startSeller(facilitator, {
    routes: { 'GET /work': paid({ onPending }) },
    logger: { log() {}, error() {}, warn: (message: unknown) => warnings.push(message) },
  })
  await seller.close()
  expect(warnings).toHaveLength(times)
})
