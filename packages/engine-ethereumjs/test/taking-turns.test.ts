import type { Engine, SimulationPlan, StateSource } from '@upfront/simulation'
import { createEthereumJsEngine } from '../src/index.js'
import { callPlan, codePlan, ENDLESS_LOOP, NOBODY, RICH, state } from './dev-chain.js'

const never = new AbortController().signal
const small = callPlan({ from: RICH, to: NOBODY, value: '0x1' })
/** Never runs out of gas in the time of a test. */
const endless = withoutGasLimit(codePlan(ENDLESS_LOOP))
/** Half a minute without a jump, and so without a turn for others: PUSH3 1 MiB, PUSH0, KECCAK256, POP, over and over. */
const straight = withoutGasLimit(codePlan(`0x${'621000005f2050'.repeat(4_000)}`))

function withoutGasLimit(plan: SimulationPlan): SimulationPlan {
  const blocks = plan.blocks.map((block) => ({ ...block, gasLimit: 2n ** 62n }))
  return { ...plan, blocks, gasBudget: 2n ** 62n }
}

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
      engine.simulate(endless, state, abort.signal).finally(() => {
        running--
      }),
    )
    for (let index = 0; index < 5; index++) await engine.simulate(small, state, never)
    expect(running).toBe(8)
    abort.abort(new Error('enough'))
    const ends = await Promise.allSettled(hurting)
    expect(ends.map((end) => end.status === 'rejected' && end.reason.message)).toEqual(Array(8).fill('enough'))
    await engine.simulate(small, state, never)
  })

  it('answers others while one waits for its state', async () => {
    const abort = new AbortController()
    const silent: StateSource = {
      ...state,
      read: (_, signal) =>
        new Promise((_resolve, reject) =>
          signal.addEventListener('abort', () => reject(signal.reason), { once: true }),
        ),
    }
    const waiting = Array.from({ length: 20 }, () => engine.simulate(small, silent, abort.signal))
    await engine.simulate(small, state, never)
    abort.abort(new Error('enough'))
    for (const end of await Promise.allSettled(waiting)) expect(end).toMatchObject({ reason: { message: 'enough' } })
  })

  it('goes round threads that can not take turns', async () => {
    const abort = new AbortController()
    let running = 2
    const hurting = Array.from({ length: running }, () =>
      engine.simulate(straight, state, abort.signal).finally(() => {
        running--
      }),
    )
    await engine.simulate(small, state, never)
    expect(running).toBe(2)
    abort.abort(new Error('enough'))
    for (const end of await Promise.allSettled(hurting)) expect(end).toMatchObject({ reason: { message: 'enough' } })
  })

  it('ends a thread that computes on after its simulation was given up', async () => {
    const abort = new AbortController()
    const given = Array.from({ length: 2 }, () => engine.simulate(straight, state, abort.signal))
    setTimeout(() => abort.abort(new Error('enough')), 100)
    for (const end of await Promise.allSettled(given)) expect(end).toMatchObject({ status: 'rejected' })
    await engine.simulate(small, state, never)
  })

  it('takes nothing whose signal is aborted already', async () => {
    await expect(engine.simulate(small, state, AbortSignal.abort(new Error('too late')))).rejects.toThrow('too late')
  })

  it('rejects what runs when it closes, and all that comes after', async () => {
    const running = engine.simulate(endless, state, never)
    await Promise.all([expect(running).rejects.toThrow('closed'), engine.close()])
    await expect(engine.simulate(small, state, never)).rejects.toThrow('closed')
  })
})
