import { Canceller } from './cancellation.js'
import { withinLimits } from './within-limits.js'

const never = new Promise<never>(() => undefined)
const late = () => new Error('late')

describe('withinLimits', () => {
  it('returns a plain value immediately, and settles like the work if it ends in time', async () => {
    const limits = { signal: new Canceller().signal, deadline: performance.now() + 10_000 }
    expect(withinLimits(7, limits, late)).toBe(7)
    expect(await withinLimits(Promise.resolve(7), limits, late)).toBe(7)
    await expect(withinLimits(Promise.reject(new Error('failed')), limits, late)).rejects.toThrow('failed')
  })

  it('rejects at the deadline or with the signal’s reason, even if the work never ends', async () => {
    await expect(withinLimits(never, { deadline: performance.now() - 1 }, late)).rejects.toThrow('late')
    const canceller = new Canceller()
    const waiting = withinLimits(never, { signal: canceller.signal, deadline: performance.now() + 10_000 }, late)
    canceller.cancel(new Error('enough'))
    await expect(waiting).rejects.toThrow('enough')
    await expect(withinLimits(never, { signal: canceller.signal }, late)).rejects.toThrow('enough')
    await expect(withinLimits(never, { signal: AbortSignal.abort(new Error('real')) }, late)).rejects.toThrow('real')
  })
  it('accepts a deadline beyond the longest timer', async () => {
    const forever = withinLimits(never, { deadline: Number.POSITIVE_INFINITY }, late)
    const long = withinLimits(never, { deadline: performance.now() + 2 ** 32 }, late)
    const waited = new Promise((resolve) => setTimeout(resolve, 50, 'waited'))
    expect(await Promise.race([forever, long, waited])).toBe('waited')
  })
})
