import type { FreeBudgetLimits } from '../environment/limits.js'
import { inMemory } from './counters.js'
import { EventLoopStall } from './event-loop-stall.js'
import { FreeBudget } from './free-budget.js'
import { ClientGone, RateLimited } from './refused.js'

const budget = (limits: Partial<FreeBudgetLimits>, stall: Pick<EventLoopStall, 'waitedMs'> = { waitedMs: 0 }) =>
  new FreeBudget(
    { callsPerSecond: 1_000, gasPerMinute: 1e9, bytesPerMinute: 1e9, readsPerMinute: 1e9, ...limits },
    inMemory,
    stall,
  )

describe('FreeBudget calls per second', () => {
  it('rejects calls beyond the limit with a retry time, per client', async () => {
    const free = budget({ callsPerSecond: 2 })
    await free.take('192.0.2.1')
    await free.take('192.0.2.1')
    await expect(free.take('192.0.2.1')).rejects.toThrow(RateLimited)
    await expect(free.take('192.0.2.1')).rejects.toMatchObject({ retryAfterSeconds: 1, httpStatus: 429, code: -32005 })
    await free.take('192.0.2.2')
  })

  it('adds the allowance of the seconds for which the event loop was blocked', async () => {
    const free = budget({ callsPerSecond: 20 }, new EventLoopStall())
    for (const until = performance.now() + 2_100; performance.now() < until; );
    for (let call = 0; call < 60; call++) await free.take('192.0.2.1')
    await expect(
      (async () => {
        for (let call = 0; call < 60; call++) await free.take('192.0.2.1')
      })(),
    ).rejects.toThrow(RateLimited)
  })

  it('counts an IPv6 /64 as one client and a mapped IPv4 address as that address', async () => {
    const free = budget({ callsPerSecond: 1 })
    await free.take('2001:db8:1:2::1')
    await expect(free.take('2001:db8:1:2:ffff::9')).rejects.toThrow(RateLimited)
    await free.take('2001:db8:1:3::1')
    await free.take('::ffff:192.0.2.1')
    await expect(free.take('192.0.2.1')).rejects.toThrow(RateLimited)
    await free.take('::ffff:192.0.2.2')
  })

  it('limits an IPv6 /48 to four times the limit of one client', async () => {
    const free = budget({ callsPerSecond: 2 })
    for (let call = 0; call < 8; call++) await free.take(`2001:db8:1:${call}::1`)
    await expect(free.take('2001:db8:1:9::1')).rejects.toThrow('more than 8 calls in a second')
    await free.take('2001:db8:2:9::1')
  })

  it('counts every entry of a batch', async () => {
    const free = budget({ callsPerSecond: 5 })
    await free.take('192.0.2.1')
    await free.takeMore('192.0.2.1', 4)
    await expect(free.take('192.0.2.1')).rejects.toThrow(RateLimited)
  })

  it('ignores the port of an address and counts all invalid addresses as one client', async () => {
    const free = budget({ callsPerSecond: 1 })
    await free.take('192.0.2.1:4711')
    await expect(free.take('192.0.2.1')).rejects.toThrow(RateLimited)
    await free.take('[2001:db8:1:2::1]:4711')
    await expect(free.take('2001:db8:1:2::2')).rejects.toThrow(RateLimited)
    await free.take('unknown')
    await expect(free.take('_hidden')).rejects.toThrow(RateLimited)
    await expect(free.take('')).rejects.toThrow(RateLimited)
  })

  it('throws ClientGone if the connection has been reset', async () => {
    await expect(budget({}).take(undefined)).rejects.toThrow(ClientGone)
  })
})

describe('FreeBudget usage per minute', () => {
  it.each([
    ['gas', { gasUsed: 400n }, 'more than 1000 gas in a minute'],
    ['bytes', { bytes: 400 }, 'more than 1000 bytes of requests and answers in a minute'],
    ['reads', { reads: 400 }, 'more than 1000 values read from the node in a minute'],
  ])(
    '%s: rejects calls once the minute’s allowance is used up, naming the limit and a retry time',
    async (_, cost, message) => {
      const free = budget({ gasPerMinute: 1_000, bytesPerMinute: 1_000, readsPerMinute: 1_000 })
      for (let call = 0; call < 3; call += 1) {
        await free.take('192.0.2.1')
        free.spend('192.0.2.1', cost)
      }
      await Promise.resolve()
      const refused = await free.take('192.0.2.1').catch((error: RateLimited) => error)
      expect(refused).toBeInstanceOf(RateLimited)
      expect((refused as RateLimited).message).toContain(message)
      expect((refused as RateLimited).retryAfterSeconds).toBeGreaterThan(50)
      await free.take('192.0.2.2')
    },
  )
})

it('FreeBudget applies no limit if callsPerSecond is 0', async () => {
  const free = budget({ callsPerSecond: 0, gasPerMinute: 1 })
  for (let call = 0; call < 100; call++) {
    await free.take('192.0.2.1')
    free.spend('192.0.2.1', { gasUsed: 100n })
  }
})
