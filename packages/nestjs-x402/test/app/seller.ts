import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import {
  All,
  Body,
  Controller,
  Get,
  HttpException,
  type INestApplication,
  type LoggerService,
  type MessageEvent,
  Param,
  Post,
  Query,
  Res,
  Sse,
  StreamableFile,
  type Type,
} from '@nestjs/common'
import { ExpressAdapter } from '@nestjs/platform-express'
import { FastifyAdapter } from '@nestjs/platform-fastify'
import { Test } from '@nestjs/testing'
import { type Observable, of } from 'rxjs'
import {
  PaidRequest,
  type PaidRouteOptions,
  PaidRoutesModule,
  type PaidRoutesOptions,
  Payment,
  Settlement,
} from '../../src/index.js'
import { NETWORK } from './facilitator.js'

export const USDC = '0x05Dc000000000000000000000000000000000001'
export const PAY_TO = '0x9965507D1a55bcC2695C58ba16FB37d819B0A4dc'
export const ADAPTERS = ['fastify', 'express'] as const
export type AdapterName = (typeof ADAPTERS)[number]

/** A route for at most $0.10, with the policy of the example seller. */
export function paid(overrides: Partial<PaidRouteOptions> = {}): PaidRouteOptions {
  return {
    accepts: {
      scheme: 'upto',
      price: '$0.10',
      network: NETWORK,
      payTo: PAY_TO,
      asset: { address: USDC, decimals: 6, name: 'USDC', version: '2' },
    },
    description: 'Metered work',
    mimeType: 'application/json',
    charge: { unset: 'maximum', failure: 'nothing', timeout: 'nothing', partial: 'maximum' },
    ...overrides,
  }
}

/** Handler runs, paid or not. */
export const runs: string[] = []

@Controller('work')
export class WorkController {
  constructor(private readonly settlement: Settlement) {}

  /** `?charge=` the amount to set, `?fail=` a status, `?slow=` milliseconds. */
  @Get()
  async metered(@Query('charge') charge?: string, @Query('fail') fail?: string, @Query('slow') slow?: string) {
    runs.push(`metered ${charge}`)
    if (slow !== undefined) await new Promise((resolve) => setTimeout(resolve, Number(slow)))
    if (charge !== undefined) this.settlement.setSettlementAmount(charge)
    if (fail !== undefined) throw new HttpException('as asked', Number(fail))
    return { charge: charge ?? null }
  }

  @Get('parameter')
  parameter(@Payment() payment: PaidRequest) {
    runs.push('parameter')
    payment.setSettlementAmount('$0.02')
    return { maximum: payment.maximum.toString(), payer: payment.payer }
  }

  @Get('abortable')
  async abortable(@Payment() payment: PaidRequest) {
    runs.push('abortable')
    await sleep(20_000, undefined, { signal: payment.signal })
    return { ok: true }
  }

  /** Answers only after its buyer has disconnected. */
  @Get('outlasting')
  async outlasting(@Payment() payment: PaidRequest) {
    runs.push('outlasting')
    await once(payment.signal, 'abort')
    payment.setSettlementAmount('$0.03')
    return { ok: true }
  }

  @Get('header')
  header(
    @Query('value') value: string,
    @Res({ passthrough: true }) response: { header(name: string, value: string): void },
  ) {
    runs.push('header')
    response.header('Settlement-Overrides', value)
    return { ok: true }
  }

  @Get('raw')
  raw(@Res() response: ServerResponse | { raw: ServerResponse }) {
    runs.push('raw')
    this.settlement.setSettlementAmount('1')
    const raw = 'raw' in response ? response.raw : response
    raw.writeHead(200, { 'Content-Type': 'text/plain', 'X-Handler': 'raw' })
    raw.write('by ')
    raw.end('hand')
  }

  /** `?chunks=` of 1,000 bytes each; `?breakAt=` breaks the stream after that many. */
  @Get('stream')
  stream(@Query('chunks') chunks = '3', @Query('breakAt') breakAt?: string) {
    runs.push('stream')
    this.settlement.setSettlementAmount('$0.05')
    return new StreamableFile(
      Readable.from(
        (async function* () {
          for (let index = 0; index < Number(chunks); index++) {
            if (breakAt !== undefined && index === Number(breakAt)) throw new Error('the source broke')
            await new Promise((resolve) => setTimeout(resolve, 5))
            yield Buffer.alloc(1000, 'x')
          }
        })(),
      ),
      { type: 'text/plain' },
    )
  }

  @Sse('events')
  events(): Observable<MessageEvent> {
    runs.push('events')
    return of({ data: 'one' }, { data: 'two' })
  }

  @Get('items/:id')
  item(@Param('id') id: string) {
    runs.push(`item ${id}`)
    return { id }
  }

  @All('any')
  any() {
    runs.push('any')
    return { ok: true }
  }

  @Post('echo')
  echo(@Body() body: unknown) {
    runs.push('echo')
    return body
  }

  @Get('free')
  free() {
    return { free: true }
  }
}

export interface SellerOptions {
  answers?: PaidRoutesOptions['answers']
  adapter?: AdapterName
  controllers?: Type[]
  routes?: Record<string, PaidRouteOptions>
  prepare?: (app: INestApplication) => void
  onPayment?: PaidRoutesOptions['onPayment']
  /** Silent unless given. */
  logger?: LoggerService
}

export interface Seller {
  url: string
  app: INestApplication
  close(): Promise<void>
}

/** A seller listening on a free port. */
export async function startSeller(
  facilitator: PaidRoutesOptions['facilitator'],
  {
    adapter = 'fastify',
    controllers = [WorkController],
    routes = {},
    prepare,
    onPayment,
    answers,
    logger,
  }: SellerOptions = {},
): Promise<Seller> {
  const module = await Test.createTestingModule({
    imports: [
      PaidRoutesModule.forRoot({
        facilitator,
        routes,
        ...(onPayment === undefined ? {} : { onPayment }),
        ...(answers === undefined ? {} : { answers }),
      }),
    ],
    controllers,
  }).compile()
  const app = module.createNestApplication(adapter === 'fastify' ? new FastifyAdapter() : new ExpressAdapter(), {
    logger: logger ?? false,
  })
  prepare?.(app)
  await app.listen(0, '127.0.0.1')
  const { port } = app.getHttpServer().address() as { port: number }
  return { url: `http://127.0.0.1:${port}`, app, close: () => app.close() }
}
