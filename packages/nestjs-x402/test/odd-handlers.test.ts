import type { ServerResponse } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { Controller, Get, Res } from '@nestjs/common'
import { type PaidRequest, Payment, Settlement } from '../src/index.js'
import { payingFetch, receiptOf } from './app/buyer.js'
import { DurableScriptedFacilitator } from './app/facilitator.js'
import { statusOf } from './app/raw-request.js'
import { ADAPTERS, paid, type Seller, startSeller } from './app/seller.js'

type Reply = (ServerResponse | { raw: ServerResponse }) & { header(name: string, value: string): void }
const rawOf = (reply: Reply) => ('raw' in reply ? reply.raw : reply)

@Controller('odd')
class OddController {
  constructor(private readonly settlement: Settlement) {}

  @Get('header')
  header(@Res({ passthrough: true }) reply: Reply) {
    reply.header('X-Odd', 'a\nb')
    return { ok: true }
  }

  @Get('number')
  number(@Res() reply: Reply) {
    rawOf(reply).end(5 as never)
  }

  @Get('status')
  status(@Res() reply: Reply) {
    rawOf(reply).statusCode = 7
    rawOf(reply).end('x')
  }

  @Get('pairs')
  pairs(@Res() reply: Reply) {
    rawOf(reply).writeHead(200, [['X-Handler', 'pairs']] as never)
    rawOf(reply).end('x')
  }

  /** Answers with a forged receipt. */
  @Get('forged')
  forged(@Res({ passthrough: true }) reply: Reply) {
    reply.header('payment-response', 'forged')
    reply.header('SETTLEMENT-OVERRIDES', '{"amount":"7"}')
    return { ok: true }
  }

  /** Continues long after its timeout. */
  @Get('late')
  async late(@Payment() payment: PaidRequest) {
    await sleep(400)
    payment.setSettlementAmount('1')
    this.settlement.setSettlementAmount('2')
    return { late: true }
  }

  @Get('free')
  free() {
    return { payment: this.settlement.payment ?? null }
  }

  @Get('free-amount')
  freeAmount() {
    this.settlement.setSettlementAmount('1')
  }
}

describe.each(ADAPTERS)('a handler with unusual behaviour on %s', (adapter) => {
  const facilitator = new DurableScriptedFacilitator()
  let seller: Seller
  const buy = payingFetch()

  beforeAll(async () => {
    const names = ['header', 'number', 'status', 'pairs', 'forged']
    const routes = Object.fromEntries(names.map((name) => [`GET /odd/${name}`, paid()]))
    seller = await startSeller(facilitator, {
      adapter,
      controllers: [OddController],
      routes: { ...routes, 'GET /odd/late': paid({ timeout: 100 }) },
    })
  })
  afterAll(() => seller.close())
  beforeEach(() => {
    facilitator.settled.length = 0
    facilitator.released.length = 0
  })

  it.each(['header', 'number', 'status'])(
    'answers 500 and is charged as a failure if its answer cannot be sent: %s',
    async (name) => {
      const response = await buy(`${seller.url}/odd/${name}`)
      expect(response.status).toBe(500)
      expect(receiptOf(response)).toMatchObject({ success: true, amount: '0' })
      expect([facilitator.settled, facilitator.released]).toEqual([[], ['failure']])
    },
  )

  it('can write its headers as pairs', async () => {
    const response = await buy(`${seller.url}/odd/pairs`)
    expect([response.status, response.headers.get('x-handler'), await response.text()]).toEqual([200, 'pairs', 'x'])
  })

  it('cannot forge a receipt', async () => {
    const response = await buy(`${seller.url}/odd/forged`)
    expect(receiptOf(response)).toMatchObject({ success: true, amount: '7' })
    expect(response.headers.get('settlement-overrides')).toBeNull()
  })

  it('has no effect after its timeout', async () => {
    const response = await buy(`${seller.url}/odd/late`)
    expect(response.status).toBe(504)
    await sleep(500)
    expect([facilitator.settled, facilitator.released]).toEqual([[], ['timeout']])
    expect(await statusOf(seller.url, 'GET /odd/free')).toBe(200)
  })

  it('has no payment on a free route, even while paid ones run', async () => {
    const [, free] = await Promise.all([buy(`${seller.url}/odd/pairs`), fetch(`${seller.url}/odd/free`)])
    expect(await free.json()).toEqual({ payment: null })
    expect((await fetch(`${seller.url}/odd/free-amount`)).status).toBe(500)
  })
})
