import { Canceller } from './cancellation.js'
import { within } from './within.js'

const never = new Promise<never>(() => undefined)
const late = () => new Error('late')

describe('within', () => {
  it('returns a plain value immediately, and settles like the work if it ends in time', async () => {
    const limits = { signal: new Canceller().signal, deadline: performance.now() + 10_000 }
    expect(within(7, limits, late)).toBe(7)
    expect(await within(Promise.resolve(7), limits, late)).toBe(7)
    await expect(within(Promise.reject(new Error('failed')), limits, late)).rejects.toThrow('failed')
  })

  it('rejects at the deadline or with the signal’s reason, even if the work never ends', async () => {
    await expect(within(never, { deadline: performance.now() - 1 }, late)).rejects.toThrow('late')
    const canceller = new Canceller()
    const waiting = within(never, { signal: canceller.signal, deadline: performance.now() + 10_000 }, late)
    canceller.cancel(new Error('enough'))
    await expect(waiting).rejects.toThrow('enough')
    await expect(within(never, { signal: canceller.signal }, late)).rejects.toThrow('enough')
    await expect(within(never, { signal: AbortSignal.abort(new Error('real')) }, late)).rejects.toThrow('real')
  })
  it('accepts a deadline beyond the longest timer', async () => {
    const forever = within(never, { deadline: Number.POSITIVE_INFINITY }, late)
    const long = within(never, { deadline: performance.now() + 2 ** 32 }, late)
    const waited = new Promise((resolve) => setTimeout(resolve, 50, 'waited'))
    expect(await Promise.race([forever, long, waited])).toBe('waited')
  })
})
