import { Module } from '@nestjs/common'
import { Test } from '@nestjs/testing'
import { FACILITATOR_CLIENT, PaidRoutesModule, PaymentGuard } from '../src/index.js'
import { FakeFacilitator, payingFetch, receiptOf, UnpaidGuard } from '../src/testing/index.js'
import { ScriptedFacilitator } from './app/facilitator.js'
import { paid, WorkController } from './app/seller.js'

@Module({
  controllers: [WorkController],
  imports: [
    PaidRoutesModule.forRoot({
      facilitator: new ScriptedFacilitator(),
      routes: { 'GET /work': paid(), 'GET /work/parameter': paid() },
    }),
  ],
})
class AppModule {}

describe('an app tested with FakeFacilitator', () => {
  const facilitator = new FakeFacilitator()
  let url: string
  let close: () => Promise<void>

  beforeAll(async () => {
    const builder = Test.createTestingModule({ imports: [AppModule] })
    const module = await builder.overrideProvider(FACILITATOR_CLIENT).useValue(facilitator).compile()
    const app = module.createNestApplication({ logger: false })
    await app.listen(0, '127.0.0.1')
    url = await app.getUrl()
    close = () => app.close()
  })
  afterAll(() => close())

  it('is paid without a chain', async () => {
    const response = await payingFetch(`${url}/work?charge=$0.03`)
    expect(await response.json()).toEqual({ charge: '$0.03' })
    expect(receiptOf(response)).toMatchObject({ success: true, amount: '30000' })
    expect(facilitator.charges).toMatchObject([{ amount: '30000', reason: 'usage' }])
  })

  it('sees refused, failed, pending and released payments as set on the facilitator', async () => {
    facilitator.refusal = 'permit2_insufficient_balance'
    expect((await payingFetch(`${url}/work`)).status).toBe(402)
    facilitator.refusal = undefined
    facilitator.settlement = 'failed'
    expect((await payingFetch(`${url}/work`)).status).toBe(402)
    facilitator.settlement = 'pending'
    expect(receiptOf(await payingFetch(`${url}/work`))).toMatchObject({ errorReason: 'settlement_pending' })
    facilitator.settlement = 'settled'
    expect((await payingFetch(`${url}/work?fail=500`)).status).toBe(500)
    expect(facilitator.released).toEqual(['failure'])
    facilitator.down = true
    expect((await payingFetch(`${url}/work`)).status).toBe(503)
    facilitator.down = false
  })
})

it('handlers can set amounts if UnpaidGuard replaces PaymentGuard', async () => {
  const guard = new UnpaidGuard()
  const builder = Test.createTestingModule({ imports: [AppModule] })
  const module = await builder.overrideGuard(PaymentGuard).useValue(guard).compile()
  const app = module.createNestApplication({ logger: false })
  await app.listen(0, '127.0.0.1')
  const response = await fetch(`${await app.getUrl()}/work?charge=$0.03`)
  expect([response.status, await response.json()]).toEqual([200, { charge: '$0.03' }])
  expect((await fetch(`${await app.getUrl()}/work/parameter`)).status).toBe(200)
  expect(guard.payments.map((payment) => payment.closeAmount())).toEqual(['$0.03', '$0.02'])
  await app.close()
})
