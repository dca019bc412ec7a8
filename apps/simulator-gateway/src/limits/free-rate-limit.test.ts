import { FreeRateLimit, RateLimited } from './free-rate-limit.js'
import { ClientGone } from './request-lifetime.js'

describe('FreeRateLimit', () => {
  it('refuses the call after the last, and says when to come again', async () => {
    const limit = new FreeRateLimit(2)
    await limit.take('192.0.2.1')
    await limit.take('192.0.2.1')
    await expect(limit.take('192.0.2.1')).rejects.toThrow(RateLimited)
    await expect(limit.take('192.0.2.1')).rejects.toMatchObject({ retryAfterSeconds: 1, httpStatus: 429, code: -32005 })
    await limit.take('192.0.2.2')
  })

  it('takes an IPv6 network for one client, and a mapped IPv4 address for itself', async () => {
    const limit = new FreeRateLimit(1)
    await limit.take('2001:db8:1:2::1')
    await expect(limit.take('2001:db8:1:2:ffff::9')).rejects.toThrow(RateLimited)
    await limit.take('2001:db8:1:3::1')
    await limit.take('::ffff:192.0.2.1')
    await expect(limit.take('192.0.2.1')).rejects.toThrow(RateLimited)
    await limit.take('::ffff:192.0.2.2')
  })

  it('counts the other entries of a batch', async () => {
    const limit = new FreeRateLimit(5)
    await limit.take('192.0.2.1')
    await limit.takeMore('192.0.2.1', 4)
    await expect(limit.take('192.0.2.1')).rejects.toThrow(RateLimited)
  })

  it('takes an address with a port for the address, and all that are none for one client', async () => {
    const limit = new FreeRateLimit(1)
    await limit.take('192.0.2.1:4711')
    await expect(limit.take('192.0.2.1')).rejects.toThrow(RateLimited)
    await limit.take('[2001:db8:1:2::1]:4711')
    await expect(limit.take('2001:db8:1:2::2')).rejects.toThrow(RateLimited)
    await limit.take('unknown')
    await expect(limit.take('_hidden')).rejects.toThrow(RateLimited)
    await expect(limit.take('')).rejects.toThrow(RateLimited)
  })

  it('does not count a connection that has been reset', async () => {
    await expect(new FreeRateLimit(1).take(undefined)).rejects.toThrow(ClientGone)
  })

  it('is off at 0', async () => {
    const limit = new FreeRateLimit(0)
    for (let call = 0; call < 100; call++) await limit.take('192.0.2.1')
  })
})
