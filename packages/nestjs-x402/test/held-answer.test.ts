import type { PaymentRecord } from '../src/index.js'
import { payingFetch, receiptOf } from './app/buyer.js'
import { DurableScriptedFacilitator } from './app/facilitator.js'
import { ADAPTERS, paid, runs, type Seller, startSeller } from './app/seller.js'

describe.each(ADAPTERS)('an answer on %s', (adapter) => {
  let seller: Seller
  let facilitator: DurableScriptedFacilitator
  const records: PaymentRecord[] = []
  const buy = payingFetch()
  /** Called by the test to store the charge. */
  let store: () => void = () => undefined

  beforeAll(async () => {
    facilitator = new DurableScriptedFacilitator()
    seller = await startSeller(facilitator, {
      adapter,
      onPayment: (record) => records.push(record),
      routes: {
        'GET /work': paid(),
        'GET /work/raw': paid(),
        'GET /work/stream': paid({ holdBytes: 5_000 }),
        'GET /work/events': paid(),
      },
    })
  })
  afterAll(() => seller.close())
  beforeEach(() => {
    runs.length = 0
    records.length = 0
    facilitator.settled.length = 0
    facilitator.onSettle = new DurableScriptedFacilitator().onSettle
  })

  function holdSettlement() {
    const { onSettle } = new DurableScriptedFacilitator()
    facilitator.onSettle = (requirements) =>
      new Promise((resolve) => {
        store = () => resolve(onSettle(requirements))
      })
  }

  it.each([
    ['a value', '/work?charge=5', '{"charge":"5"}'],
    ['what a handler writes by hand', '/work/raw', 'by hand'],
    ['a stream', '/work/stream?chunks=3', 'x'.repeat(3000)],
    ['a stream longer than what is held', '/work/stream?chunks=20', 'x'.repeat(20_000)],
    ['events', '/work/events', expect.stringMatching(/data: one[\s\S]*data: two/)],
  ])('is held until its charge is stored: %s', async (_what, path, body) => {
    holdSettlement()
    let status: number | undefined
    const request = buy(`${seller.url}${path}`).then((response) => {
      status = response.status
      return response
    })
    while (facilitator.settled.length === 0) await new Promise((resolve) => setTimeout(resolve, 5))
    await new Promise((resolve) => setTimeout(resolve, 30))
    expect(status).toBeUndefined()
    store()
    const response = await request
    expect(response.status).toBe(200)
    expect(await response.text()).toEqual(body)
    expect(receiptOf(response)).toMatchObject({ success: true })
    expect(runs).toHaveLength(1)
  })

  it('keeps the headers that a handler writes by hand', async () => {
    const response = await buy(`${seller.url}/work/raw`)
    expect(response.headers.get('x-handler')).toBe('raw')
    expect(response.headers.get('content-type')).toBe('text/plain')
  })

  it('that breaks off is charged by charge.partial, and its first part is sent', async () => {
    const response = await buy(`${seller.url}/work/stream?chunks=4&breakAt=2`)
    expect(facilitator.settled.map(({ amount }) => amount)).toEqual(['100000'])
    expect(records[0]).toMatchObject({ reason: 'partial' })
    expect(response.status).toBe(200)
    await expect(response.text()).rejects.toThrow()
  })

  it('that breaks off before its first byte is a failure', async () => {
    const response = await buy(`${seller.url}/work/stream?chunks=4&breakAt=0`).catch(() => undefined)
    while (records.length === 0) await new Promise((resolve) => setTimeout(resolve, 5))
    if (response !== undefined) expect(response.status).toBeGreaterThanOrEqual(400)
    expect(facilitator.settled).toEqual([])
  })

  it('that is longer than holdBytes is charged once, with the amount that was set', async () => {
    const response = await buy(`${seller.url}/work/stream?chunks=50`)
    expect((await response.text()).length).toBe(50_000)
    expect(facilitator.settled.map(({ amount }) => amount)).toEqual(['50000'])
  })
})
