import { RateLimiterMemory } from 'rate-limiter-flexible'
import { RedisHealth } from '../replicas/redis-health.js'
import { inMemory, SharedCounter } from './counters.js'

/** A store that can hang: requests then time out, and are carried out later. */
class Store extends RateLimiterMemory {
  asked = 0
  isHanging = false
  readonly #late: (() => Promise<unknown>)[] = []

  override consume(key: string) {
    return this.#answer(() => super.consume(key))
  }

  override penalty(key: string, points: number) {
    return this.#answer(() => super.penalty(key, points))
  }

  async goOn(): Promise<void> {
    this.isHanging = false
    for (const late of this.#late.splice(0)) await late().catch(() => undefined)
  }

  #answer<T>(work: () => Promise<T>): Promise<T> {
    this.asked += 1
    if (!this.isHanging) return work()
    this.#late.push(work)
    return Promise.reject(new Error('Command timed out'))
  }
}

function counterOf(points: number, duration = 1) {
  const said: string[] = []
  let now = 0
  const logger = { warn: (text: string) => said.push(text), info: (text: string) => said.push(text) }
  const health = new RedisHealth(logger as never, () => now)
  const store = new Store({ points, duration })
  const counter = new SharedCounter(store, inMemory({ name: 'calls', points, duration }), health)
  const pass = (ms: number) => {
    now += ms
  }
  return { counter, store, said, pass }
}

describe('SharedCounter', () => {
  it('counts in the store and returns the points consumed and the time until they reset', async () => {
    const { counter } = counterOf(2, 60)
    await counter.consume('a')
    await counter.consume('a')
    await expect(counter.consume('a')).rejects.toMatchObject({ consumedPoints: 3 })
    expect((await counter.penalty('b', 5)).consumedPoints).toBe(5)
    expect((await counter.penalty('b', 5)).msBeforeNext).toBeLessThanOrEqual(60_000)
  })

  it('stops asking a hanging store after three time-outs, retries it later and logs both changes', async () => {
    const { counter, store, said, pass } = counterOf(1_000)
    store.isHanging = true
    for (let call = 0; call < 10; call++) await counter.consume('a')
    expect(store.asked).toBe(3)
    expect(said).toEqual(['Redis does not answer in time: this replica counts limits on its own'])
    pass(5_000)
    await counter.consume('a')
    await counter.consume('a')
    expect(store.asked).toBe(4)
    await store.goOn()
    pass(5_000)
    await counter.consume('a')
    await counter.consume('a')
    expect(store.asked).toBe(6)
    expect(said).toHaveLength(2)
  })

  it('counts a late request towards the window in which it was sent', async () => {
    const { counter, store, pass } = counterOf(2, 1)
    store.isHanging = true
    for (let call = 0; call < 3; call++) await counter.consume(`${call}`)
    await counter.penalty('a', 100)
    // Wait for the next second of the clock.
    await new Promise((resolve) => setTimeout(resolve, 1_010 - (Date.now() % 1_000)))
    await store.goOn()
    pass(5_000)
    await counter.consume('0')
    await counter.consume('0')
  })
})
