import { Controller, Get, Inject, Scope } from '@nestjs/common'
import { REQUEST } from '@nestjs/core'
import { PaidRoute } from '../src/index.js'
import { payingFetch } from './app/buyer.js'
import { DurableScriptedFacilitator } from './app/facilitator.js'
import { ADAPTERS, paid, runs, type Seller, startSeller } from './app/seller.js'

/** All ways in which a constructor may replace a method, with an instance per request. */
@Controller({ path: 'bound', scope: Scope.REQUEST })
class BoundController {
  constructor(@Inject(REQUEST) readonly request: unknown) {
    this.bound = this.bound.bind(this)
    this.aliased = this.free
    this.decorated = this.decorated.bind(this)
    const { wrapped } = this
    this.wrapped = function free(this: BoundController) {
      return wrapped.call(this)
    }
    this.boundFree = this.boundFree.bind(this)
  }

  @Get('bound')
  bound() {
    runs.push('bound')
    return { ok: true }
  }

  @Get('aliased')
  aliased() {
    return { ok: true }
  }

  @Get('wrapped')
  wrapped() {
    runs.push('wrapped')
    return { ok: true }
  }

  @PaidRoute(paid())
  @Get('decorated')
  decorated() {
    runs.push('decorated')
    return { ok: true }
  }

  @Get('bound-free')
  boundFree() {
    return { free: true }
  }

  @Get('free')
  free() {
    runs.push('free')
    return { ok: true }
  }
}

@Controller('single')
class SingleController {
  constructor() {
    this.bound = this.bound.bind(this)
  }

  @Get('bound')
  bound() {
    runs.push('bound')
    return { ok: true }
  }
}

@Controller('foreign')
class ForeignController {
  constructor() {
    // biome-ignore lint/correctness/noConstructorReturn: what the test is about
    return new SingleController() as never
  }

  @Get('bound')
  bound() {
    return { ok: true }
  }
}

describe.each(ADAPTERS)('a paid method that its constructor replaces, on %s', (adapter) => {
  let seller: Seller
  const facilitator = new DurableScriptedFacilitator()

  beforeAll(async () => {
    seller = await startSeller(facilitator, {
      adapter,
      controllers: [BoundController, SingleController],
      routes: {
        'GET /bound/bound': paid(),
        'GET /bound/aliased': paid(),
        'GET /bound/wrapped': paid(),
        'GET /single/bound': paid(),
      },
    })
  })
  afterAll(() => seller.close())
  beforeEach(() => {
    runs.length = 0
  })

  it.each(['/bound/bound', '/bound/aliased', '/bound/wrapped', '/bound/decorated', '/single/bound'])(
    'is still paid: %s',
    async (path) => {
      expect((await fetch(seller.url + path)).status).toBe(402)
      expect(runs).toEqual([])
      expect((await payingFetch()(seller.url + path)).status).toBe(200)
      expect(runs).toHaveLength(1)
    },
  )

  it('leaves free methods of the same controller free', async () => {
    expect(await (await fetch(`${seller.url}/bound/bound-free`)).json()).toEqual({ free: true })
  })
})

it('an app does not start if the instance of a paid controller has another class', async () => {
  const starting = startSeller(new DurableScriptedFacilitator(), {
    controllers: [ForeignController],
    routes: { 'GET /foreign/bound': paid() },
  })
  await expect(starting).rejects.toThrow('routes["GET /foreign/bound"]: ForeignController.bound can\'t be recognised')
})
