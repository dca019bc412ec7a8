import { ScriptedFacilitator } from './app/facilitator.js'
import { ADAPTERS, paid, runs, type Seller, startSeller } from './app/seller.js'

describe.each(ADAPTERS)('a route that is free for some requests on %s', (adapter) => {
  let seller: Seller
  beforeAll(async () => {
    const free = ({ url, method }: { url: string; method: string }) => method === 'GET' && url.includes('slow=1')
    seller = await startSeller(new ScriptedFacilitator(), { adapter, routes: { 'GET /work': paid({ free }) } })
  })
  afterAll(() => seller.close())
  beforeEach(() => {
    runs.length = 0
  })

  it('serves only those requests without a payment', async () => {
    const response = await fetch(`${seller.url}/work?slow=1`)
    expect([response.status, await response.json()]).toEqual([200, { charge: null }])
    expect(response.headers.get('payment-response')).toBeNull()
    expect(runs).toHaveLength(1)
    expect((await fetch(`${seller.url}/work`)).status).toBe(402)
    expect((await fetch(`${seller.url}/work?slow=1`, { method: 'HEAD' })).status).toBe(402)
    expect(runs).toHaveLength(1)
  })

  it('answers 500 if its handler sets an amount for a free request', async () => {
    expect((await fetch(`${seller.url}/work?slow=1&charge=$0.03`)).status).toBe(500)
  })
})
