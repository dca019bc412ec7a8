import { callPlan, codePlan, ENDLESS_LOOP, NOBODY, RICH, simulated, withoutGasLimit } from '@upfront/engine-conformance'
import type { Engine } from '@upfront/simulation'
import { createEthereumJsEngine } from '../src/index.js'

const small = callPlan({ from: RICH, to: NOBODY, value: '0x1' })
/** Never runs out of gas in the time of a test. */
const endless = withoutGasLimit(codePlan(ENDLESS_LOOP))
/** Half a minute without a jump, and so without a turn for others: PUSH3 1 MiB, PUSH0, KECCAK256, POP, over and over. */
const straight = withoutGasLimit(codePlan(`0x${'621000005f2050'.repeat(4_000)}`))

describe('simulations side by side', () => {
  let engine: Engine

  beforeEach(() => {
    engine = createEthereumJsEngine()
  })

  afterEach(() => engine.close())

  it('answers small ones while more endless ones run than there are threads', async () => {
    const abort = new AbortController()
    let running = 8
    const hurting = Array.from({ length: running }, () =>
      simulated(engine, endless, { cancellation: abort }).finally(() => {
        running--
      }),
    )
    for (let index = 0; index < 5; index++) await simulated(engine, small)
    expect(running).toBe(8)
    abort.abort(new Error('enough'))
    const ends = await Promise.allSettled(hurting)
    expect(ends.map((end) => end.status === 'rejected' && end.reason.message)).toEqual(Array(8).fill('enough'))
    await simulated(engine, small)
  })

  it('goes round threads that can not take turns', async () => {
    const abort = new AbortController()
    let running = 2
    const hurting = Array.from({ length: running }, () =>
      simulated(engine, straight, { cancellation: abort }).finally(() => {
        running--
      }),
    )
    await simulated(engine, small)
    expect(running).toBe(2)
    abort.abort(new Error('enough'))
    for (const end of await Promise.allSettled(hurting)) expect(end).toMatchObject({ reason: { message: 'enough' } })
  })

  it('ends a thread that computes on after its simulation was given up', async () => {
    const abort = new AbortController()
    const given = Array.from({ length: 2 }, () => simulated(engine, straight, { cancellation: abort }))
    setTimeout(() => abort.abort(new Error('enough')), 100)
    for (const end of await Promise.allSettled(given)) expect(end).toMatchObject({ status: 'rejected' })
    await simulated(engine, small)
  })
})
