import { MemoryGuard } from './memory-guard.js'
import { Overloaded } from './refused.js'

function work(client: string, bytes = 0) {
  const reasons: Error[] = []
  return { client, bytes, reasons, cancel: (reason: Error) => void reasons.push(reason) }
}

describe('MemoryGuard', () => {
  it('ends half of the requests at 85% of the limit: most reserved first, then most in flight, then oldest', () => {
    let resident = 84
    const guard = new MemoryGuard({ limit: 100 }, () => resident)
    const [small, old, large, young, other] = [work('a'), work('b'), work('c', 9), work('b'), work('d', 1)]
    for (const running of [small, old, large, young, other]) guard.watch(running)
    guard.check()
    expect(guard.ended).toBe(0)
    resident = 85
    guard.check()
    expect([large, other].map(({ reasons }) => reasons)).toEqual([[expect.any(Overloaded)], [expect.any(Overloaded)]])
    expect(guard.ended).toBe(2)
    guard.check()
    expect([old.reasons.length, young.reasons.length]).toEqual([1, 0])
  })

  it('spares clients with a single request and no reservation until 95% of the limit', () => {
    let resident = 94
    const guard = new MemoryGuard({ limit: 100 }, () => resident)
    const [one, other] = [work('a'), work('b')]
    for (const running of [one, other]) guard.watch(running)
    guard.check()
    expect(guard.ended).toBe(0)
    resident = 95
    guard.check()
    expect(guard.ended).toBe(1)
    guard.leave(other)
  })

  it('does not end a request that has finished', () => {
    const guard = new MemoryGuard({ limit: 100 }, () => 100)
    const done = work('a')
    guard.watch(done)
    guard.leave(done)
    guard.check()
    expect(done.reasons).toEqual([])
  })
})
