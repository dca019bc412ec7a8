import {
  Controller,
  Get,
  Inject,
  Injectable,
  Module,
  RequestMethod,
  Scope,
  type VersioningOptions,
  VersioningType,
} from '@nestjs/common'
import { REQUEST, RouterModule } from '@nestjs/core'
import { ExpressAdapter } from '@nestjs/platform-express'
import { FastifyAdapter } from '@nestjs/platform-fastify'
import { Test } from '@nestjs/testing'
import { PaidRoute, PaidRoutesModule } from '../src/index.js'
import { payingFetch } from './app/buyer.js'
import { DurableScriptedFacilitator } from './app/facilitator.js'
import { statusOf } from './app/raw-request.js'
import { ADAPTERS, paid, runs, startSeller } from './app/seller.js'

@Controller({ path: 'report', version: ['1', '2'] })
class VersionedController {
  @Get()
  report() {
    runs.push('report')
    return { ok: true }
  }
}

@Injectable({ scope: Scope.REQUEST })
class PerRequest {
  constructor(@Inject(REQUEST) readonly request: unknown) {}
}

class BaseController {
  constructor(readonly per: PerRequest) {}

  @PaidRoute(paid())
  @Get(['decorated', 'alias'])
  decorated() {
    runs.push('decorated')
    return { ok: true }
  }
}

@Controller('inherited')
class InheritingController extends BaseController {
  constructor(per: PerRequest) {
    super(per)
  }
}

@Module({ controllers: [InheritingController], providers: [PerRequest] })
class Inner {}

describe.each(ADAPTERS)('a paid handler on %s', (adapter) => {
  const facilitator = new DurableScriptedFacilitator()
  beforeEach(() => {
    runs.length = 0
  })

  it('cannot be reached unpaid by any spelling of its path or method', async () => {
    const seller = await startSeller(facilitator, {
      adapter,
      routes: { 'GET /work': paid(), 'GET /work/items/:id': paid(), 'GET /work/any': paid() },
    })
    const lines = [
      ...['GET', 'HEAD'].flatMap((method) =>
        [
          '/work',
          '/work/',
          '/work?',
          '/work?x=1',
          '//work',
          '/WORK',
          '/Work/',
          '/%77ork',
          '/wor%6B/',
          '/work#x',
          '/./work',
          '/x/../work',
        ].map((path) => `${method} ${path}`),
      ),
      'GET /work;a=b',
      'GET /work%2F',
      'GET /work\\',
      'GET http://elsewhere/work',
      'GET /work/items/1',
      'HEAD /work/items/%31',
      'GET /WORK/items/a%2fb',
      ...['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'].map((method) => `${method} /work/any`),
      'OPTIONS /work',
      'OPTIONS /work/any',
    ]
    for (const line of lines) {
      const status = await statusOf(seller.url, line)
      expect([line, runs.length]).toEqual([line, 0])
      expect([200, 201].includes(status) && !line.startsWith('OPTIONS')).toBe(false)
    }
    expect(await statusOf(seller.url, 'GET /work')).toBe(402)
    expect(await statusOf(seller.url, 'HEAD /work')).toBe(402)
    expect(await statusOf(seller.url, 'POST /work/any')).toBe(402)
    await seller.close()
  })

  it('runs and is charged once for a paid HEAD', async () => {
    const seller = await startSeller(facilitator, { adapter, routes: { 'GET /work': paid() } })
    facilitator.settled.length = 0
    const response = await payingFetch()(`${seller.url}/work?charge=$0.01`, { method: 'HEAD' })
    expect(response.status).toBe(200)
    expect(runs).toHaveLength(1)
    expect(facilitator.settled.map(({ amount }) => amount)).toEqual(['10000'])
    await seller.close()
  })

  it.each(['GET /api/v1/report', 'GET /report'])(
    'is found under a global prefix and a URI version as %s',
    async (name) => {
      const both = name === 'GET /report'
      const seller = await startSeller(facilitator, {
        adapter,
        controllers: [VersionedController],
        routes: both ? { [name]: paid() } : { [name]: paid() },
        prepare: (app) => {
          app.setGlobalPrefix('api')
          app.enableVersioning({ type: VersioningType.URI })
        },
      })
      expect((await fetch(`${seller.url}/api/v1/report`)).status).toBe(402)
      // One handler serves both versions: it is paid on all of its paths if one is.
      expect((await fetch(`${seller.url}/api/v2/report`)).status).toBe(402)
      expect(runs).toEqual([])
      await seller.close()
    },
  )

  it('is found with header versioning', async () => {
    const seller = await startSeller(facilitator, {
      adapter,
      controllers: [VersionedController],
      routes: { 'GET /report': paid() },
      prepare: (app) => app.enableVersioning({ type: VersioningType.HEADER, header: 'x-version' }),
    })
    for (const version of ['1', '2']) {
      const response = await fetch(`${seller.url}/report`, { headers: { 'x-version': version } })
      expect(response.status).toBe(402)
    }
    await seller.close()
  })

  it.each<[string, VersioningOptions, Record<string, string>]>([
    ['in the media type', { type: VersioningType.MEDIA_TYPE, key: 'v=' }, { accept: 'application/json;v=2' }],
    [
      'by a function of the app’s own',
      {
        type: VersioningType.CUSTOM,
        extractor: (request) => (request as { headers: Record<string, string> }).headers['x-api'] ?? '',
      },
      { 'x-api': '2' },
    ],
  ])('is found with versioning %s', async (_where, versioning, headers) => {
    const seller = await startSeller(facilitator, {
      adapter,
      controllers: [VersionedController],
      routes: { 'GET /report': paid() },
      prepare: (app) => app.enableVersioning(versioning),
    })
    expect((await fetch(`${seller.url}/report`, { headers })).status).toBe(402)
    expect((await fetch(`${seller.url}/report`)).status).toBe(404)
    expect(runs).toEqual([])
    expect((await payingFetch()(`${seller.url}/report`, { headers })).status).toBe(200)
    await seller.close()
  })

  it('is not served unpaid because of any request header', async () => {
    const seller = await startSeller(facilitator, {
      adapter,
      routes: { 'GET /work': paid(), 'GET /work/any': paid() },
      prepare: (app) => app.enableCors(),
    })
    const odd = [
      'X-HTTP-Method-Override: OPTIONS',
      'X-Original-URL: /work/free',
      'X-Forwarded-Host: localhost',
      'Upgrade: websocket',
      'Expect: 100-continue',
      'Accept: text/html;q=x, */*;q=',
      'X-PAYMENT: e30=',
      'PAYMENT-SIGNATURE:',
      'Origin: https://dapp.example',
    ]
    for (const header of odd) {
      expect([header, await statusOf(seller.url, 'GET /work', [header])]).toEqual([header, 402])
    }
    const preflight = { origin: 'https://dapp.example', 'access-control-request-method': 'GET' }
    expect((await fetch(`${seller.url}/work`, { method: 'OPTIONS', headers: preflight })).status).toBe(204)
    expect(runs).toEqual([])
    await seller.close()
  })

  it('is found if the global prefix excludes it', async () => {
    const seller = await startSeller(facilitator, {
      adapter,
      routes: { 'GET /work': paid() },
      prepare: (app) => app.setGlobalPrefix('api', { exclude: [{ path: 'work', method: RequestMethod.GET }] }),
    })
    expect((await fetch(`${seller.url}/work`)).status).toBe(402)
    await seller.close()
  })

  it('is paid by @PaidRoute alone if inherited, request-scoped and mounted, on each of its paths', async () => {
    const module = await Test.createTestingModule({
      imports: [
        PaidRoutesModule.forRootAsync({ useFactory: () => ({ facilitator }) }),
        Inner,
        RouterModule.register([{ path: 'mounted', module: Inner }]),
      ],
    }).compile()
    const app = module.createNestApplication(adapter === 'fastify' ? new FastifyAdapter() : new ExpressAdapter(), {
      logger: false,
    })
    await app.listen(0, '127.0.0.1')
    const url = `http://127.0.0.1:${(app.getHttpServer().address() as { port: number }).port}/mounted/inherited`
    expect((await fetch(`${url}/decorated`)).status).toBe(402)
    expect((await fetch(`${url}/alias`)).status).toBe(402)
    expect(runs).toEqual([])
    expect((await payingFetch()(`${url}/alias`)).status).toBe(200)
    expect(runs).toEqual(['decorated'])
    await app.close()
  })
})

it('an app with @PaidRoute but without PaidRoutesModule does not start', async () => {
  const module = Test.createTestingModule({ controllers: [InheritingController], providers: [PerRequest] })
  const app = (await module.compile()).createNestApplication(new FastifyAdapter(), { logger: false })
  await expect(app.init()).rejects.toThrow('@PaidRoute needs PaidRoutesModule.forRoot')
})
