import { signPayment } from './app/buyer.js'
import { ScriptedFacilitator } from './app/facilitator.js'
import { ADAPTERS, paid, type Seller, startSeller } from './app/seller.js'

describe.each(ADAPTERS)('a deep JSON body on %s', (adapter) => {
  let seller: Seller
  beforeAll(async () => {
    seller = await startSeller(new ScriptedFacilitator(), {
      adapter,
      routes: { 'GET /work': paid(), 'POST /work/echo': paid() },
    })
  })
  afterAll(() => seller.close())

  it.each([
    [100, 201],
    [40_000, 400],
  ])('of %i levels is answered with %i', async (levels, status) => {
    const payment = await signPayment(`${seller.url}/work`)
    const response = await fetch(`${seller.url}/work/echo`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'PAYMENT-SIGNATURE': payment },
      body: `${'['.repeat(levels)}${']'.repeat(levels)}`,
    })
    expect(response.status).toBe(status)
  })
})
