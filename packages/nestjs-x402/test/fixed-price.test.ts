import { Controller, Get, HttpException, Query } from '@nestjs/common'
import { type Devnet, startDevnet } from '@upfront/devnet'
import { decodePaymentRequiredHeader } from '@x402/core/http'
import { buyerClient, payingFetch, receiptOf, signPayment } from './app/buyer.js'
import { balanceReader, NETWORK, referenceFacilitator } from './app/facilitator.js'
import { ADAPTERS, PAY_TO, paid, runs, type Seller, startSeller, USDC, WorkController } from './app/seller.js'

const asset = { address: USDC, decimals: 6, name: 'USDC', version: '2' }
const exact = { scheme: 'exact', price: '$0.02', network: NETWORK, payTo: PAY_TO, asset } as const
const UPFRONT = { unset: 'maximum', failure: 'maximum', timeout: 'maximum', partial: 'maximum' } as const
const upto = { ...exact, scheme: 'upto', price: '$0.10' } as const

describe.each(ADAPTERS)('a route at a fixed price behind %s', (adapter) => {
  let devnet: Devnet
  let seller: Seller
  let balanceOf: ReturnType<typeof balanceReader>

  beforeAll(async () => {
    devnet = await startDevnet()
    balanceOf = balanceReader(devnet)
    const routes = {
      'GET /work': paid({
        accepts: exact,
        charge: { unset: 'maximum', failure: 'nothing', timeout: 'nothing', partial: '$0.01' },
      }),
      'GET /work/parameter': paid({ accepts: [upto, { ...exact, price: '$0.05' }] }),
      'GET /work/any': paid({ accepts: { ...exact, assetTransferMethod: 'permit2' } }),
      'GET /early': paid({ accepts: { ...exact, paymentFlow: 'upfront' }, charge: UPFRONT }),
    }
    @Controller('early')
    class EarlyController {
      /** Records the seller's balance before it does anything. */
      @Get()
      async early(@Query('fail') fail?: string) {
        runs.push(`${await balanceOf(PAY_TO)}`)
        if (fail !== undefined) throw new HttpException('as asked', Number(fail))
        return {}
      }
    }
    const controllers = [WorkController, EarlyController]
    seller = await startSeller(referenceFacilitator(devnet), { adapter, routes, controllers })
  })
  afterAll(async () => {
    await seller.close()
    await devnet.stop()
  })
  beforeEach(() => {
    runs.length = 0
  })
  const url = () => `${seller.url}/work`
  const pay = (payment: string, path = '/work') =>
    fetch(`${seller.url}${path}`, { headers: { 'PAYMENT-SIGNATURE': payment } })

  it('costs its price, whatever amount the handler sets', async () => {
    const before = await balanceOf(PAY_TO)
    const unpaid = await fetch(url())
    const body = (await unpaid.json()) as { message: string }
    expect(body).toMatchObject({
      accepts: [{ scheme: 'exact', amount: '20000', extra: { name: 'USDC', version: '2' } }],
    })
    expect(body.message).toContain('It costs $0.02 on eip155:31337')
    expect(body.message).toContain('scheme exact')
    for (const query of ['', '?charge=$0.01']) {
      const response = await payingFetch()(`${url()}${query}`)
      expect([response.status, receiptOf(response)?.amount]).toEqual([200, '20000'])
    }
    expect((await balanceOf(PAY_TO)) - before).toBe(40_000n)
  })

  it('serves one authorization once, and charges nothing if the handler fails', async () => {
    const before = await balanceOf(PAY_TO)
    const payment = await signPayment(url())
    const answers = await Promise.all(Array.from({ length: 20 }, () => pay(payment)))
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1)
    expect(runs).toHaveLength(1)
    const failing = await signPayment(url())
    const failed = await pay(failing, '/work?fail=500')
    expect([failed.status, receiptOf(failed)]).toMatchObject([500, { success: true, amount: '0', transaction: '' }])
    expect((await balanceOf(PAY_TO)) - before).toBe(20_000n)
  })

  it('refuses an altered authorization with the reason', async () => {
    const altered = async (change: (authorization: Record<string, string>) => void) => {
      const payload = JSON.parse(Buffer.from(await signPayment(url()), 'base64').toString())
      change(payload.payload.authorization)
      return pay(Buffer.from(JSON.stringify(payload)).toString('base64'))
    }
    for (const [field, value, error] of [
      ['value', '1', 'invalid_exact_evm_signature'],
      ['to', USDC, 'invalid_exact_evm_signature'],
      ['nonce', '0x12', 'invalid_payload'],
      ['validBefore', '9999999999', 'permit2_deadline_too_far'],
    ] as const) {
      const response = await altered((authorization) => {
        authorization[field] = value
      })
      expect([response.status, ((await response.json()) as { error: string }).error]).toEqual([402, error])
    }
    expect(runs).toEqual([])
  })

  it('transfers by Permit2 if assetTransferMethod is permit2', async () => {
    const permitted = `${seller.url}/work/any`
    const payment = await signPayment(permitted)
    expect(JSON.parse(Buffer.from(payment, 'base64').toString()).payload.permit2Authorization.witness).toEqual({
      to: PAY_TO,
      validAfter: expect.any(String),
    })
    const response = await pay(payment, '/work/any')
    expect([response.status, receiptOf(response)?.amount]).toEqual([200, '20000'])
  })

  it('with paymentFlow upfront, is settled before the handler runs, even if that fails', async () => {
    const early = `${seller.url}/early`
    const unpaid = (await (await fetch(early)).json()) as { message: string }
    expect(unpaid).toMatchObject({ accepts: [{ scheme: 'exact', extra: { paymentFlow: 'upfront' } }] })
    expect(unpaid.message).toContain('It is paid before anything runs')
    const before = await balanceOf(PAY_TO)
    for (const [query, status] of [
      ['', 200],
      ['?fail=500', 500],
    ] as const) {
      const response = await payingFetch()(`${early}${query}`)
      expect([response.status, receiptOf(response)]).toMatchObject([status, { success: true, amount: '20000' }])
    }
    expect(runs).toEqual([`${before + 20_000n}`, `${before + 40_000n}`])
  })

  it('with paymentFlow upfront, runs nothing if the payment cannot be settled', async () => {
    const payment = await signPayment(`${seller.url}/early`)
    const answers = await Promise.all(Array.from({ length: 5 }, () => pay(payment, '/early')))
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1)
    expect(runs).toHaveLength(1)
  })

  it('offers upto and exact in the order of accepts, and charges by the one that was signed', async () => {
    const either = `${seller.url}/work/parameter`
    const unpaid = await fetch(either)
    const required = decodePaymentRequiredHeader(unpaid.headers.get('payment-required') ?? '')
    expect(required.accepts.map(({ scheme }) => scheme)).toEqual(['upto', 'exact'])
    const amounts: (string | undefined)[] = []
    for (const accepts of required.accepts) {
      const payload = await buyerClient().createPaymentPayload({ ...required, accepts: [accepts] })
      const payment = Buffer.from(JSON.stringify(payload)).toString('base64')
      const headers = { 'PAYMENT-SIGNATURE': payment }
      const response = await fetch(either, { headers })
      amounts.push(receiptOf(response)?.amount)
    }
    expect(amounts).toEqual(['20000', '50000'])
  })
})
