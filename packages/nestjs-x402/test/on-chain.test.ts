import { type Devnet, startDevnet } from '@upfront/devnet'
import { buyerClient, payingFetch, receiptOf, signPayment } from './app/buyer.js'
import { balanceReader, referenceFacilitator } from './app/facilitator.js'
import { ADAPTERS, PAY_TO, paid, runs, type Seller, startSeller } from './app/seller.js'

/** x402's own facilitator and buyer, unmodified, on a real chain: this package itself makes up for the facilitator's faults. */
describe.each(ADAPTERS)('a plain x402 facilitator behind %s', (adapter) => {
  let devnet: Devnet
  let seller: Seller
  let balanceOf: ReturnType<typeof balanceReader>

  beforeAll(async () => {
    devnet = await startDevnet()
    balanceOf = balanceReader(devnet)
    seller = await startSeller(referenceFacilitator(devnet), { adapter, routes: { 'GET /work': paid() } })
  })
  afterAll(async () => {
    await seller.close()
    await devnet.stop()
  })
  beforeEach(() => {
    runs.length = 0
  })
  const pay = (payment: string, path = '/work', init: RequestInit = {}) =>
    fetch(`${seller.url}${path}`, { ...init, headers: { 'PAYMENT-SIGNATURE': payment } })

  it('transfers exactly the metered amount', async () => {
    const [buyer, before] = [devnet.accounts.buyer.address, await balanceOf(PAY_TO)]
    const had = await balanceOf(buyer)
    const response = await payingFetch()(`${seller.url}/work?charge=$0.03`)
    expect(response.status).toBe(200)
    expect(receiptOf(response)).toMatchObject({
      success: true,
      amount: '30000',
      transaction: expect.stringMatching(/^0x[0-9a-f]{64}$/),
    })
    expect([(await balanceOf(PAY_TO)) - before, had - (await balanceOf(buyer))]).toEqual([30_000n, 30_000n])
  })

  it('serves an authorization once even if it was settled at zero', async () => {
    const payment = await signPayment(`${seller.url}/work`)
    expect((await pay(payment, '/work?charge=0')).status).toBe(200)
    expect((await pay(payment, '/work?charge=0')).status).toBe(402)
    expect((await pay(payment, '/work', { method: 'HEAD' })).status).toBe(402)
    expect(runs).toHaveLength(1)
  })

  it('serves an authorization once even if the handler failed', async () => {
    const payment = await signPayment(`${seller.url}/work`)
    expect((await pay(payment, '/work?fail=500')).status).toBe(500)
    expect((await pay(payment)).status).toBe(402)
    expect(runs).toHaveLength(1)
  })

  it('runs the handler once for 100 parallel uses, and transfers one charge', async () => {
    const before = await balanceOf(PAY_TO)
    const payment = await signPayment(`${seller.url}/work`)
    const answers = await Promise.all(Array.from({ length: 100 }, () => pay(payment, '/work?charge=$0.01')))
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1)
    expect(answers.filter(({ status }) => status === 402)).toHaveLength(99)
    expect(runs).toHaveLength(1)
    expect((await balanceOf(PAY_TO)) - before).toBe(10_000n)
  })

  it('refuses what the facilitator refuses, without running the handler', async () => {
    const { unapprovedBuyer } = devnet.accounts
    const payment = await signPayment(`${seller.url}/work`, {}, buyerClient(unapprovedBuyer.privateKey))
    const response = await pay(payment)
    expect(response.status).toBe(402)
    // Without a Multicall3 on the chain, @x402/evm can't tell that it was the allowance.
    expect(await response.json()).toMatchObject({ error: 'permit2_simulation_failed' })
    const forged = JSON.parse(Buffer.from(await signPayment(`${seller.url}/work`), 'base64').toString())
    forged.payload.permit2Authorization.nonce = '7'
    const refused = await pay(Buffer.from(JSON.stringify(forged)).toString('base64'))
    expect(refused.status).toBe(402)
    expect(runs).toEqual([])
  })
})
