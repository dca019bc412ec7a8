import { Test } from '@nestjs/testing'
import { PaidRoutesModule } from '../src/index.js'
import { FakeFacilitator } from '../src/testing/index.js'
import { paid, WorkController } from './app/seller.js'

class Refusing extends FakeFacilitator {
  async check(): Promise<void> {
    throw new Error('billing answered 401 unauthorized: no token')
  }
}

it.each([
  ['is down', Object.assign(new FakeFacilitator(), { down: true }), 'the fake facilitator is down'],
  ['refuses our token', new Refusing(), 'billing answered 401'],
])('an app whose facilitator %s logs an error at start, and starts', async (_what, facilitator, error) => {
  const errors: unknown[] = []
  const log = (message: unknown) => errors.push(message)
  const logger = { log: () => undefined, warn: () => undefined, error: log }
  const module = await Test.createTestingModule({
    imports: [PaidRoutesModule.forRoot({ facilitator, routes: { 'GET /work': paid() } })],
    controllers: [WorkController],
  }).compile()
  const app = module.createNestApplication({ logger })
  await app.init()
  const message = expect.stringContaining('the facilitator accepts no payments')
  expect(errors).toEqual([{ message, error: expect.stringContaining(error) }])
  await app.close()
})
