import { MemoryGuard } from './memory-guard.js'
import { Overloaded } from './refused.js'

function work(client: string, bytes = 0) {
  const reasons: Error[] = []
  return { client, bytes, reasons, cancel: (reason: Error) => void reasons.push(reason) }
}

describe('MemoryGuard', () => {
  it('ends half of the work while memory is short: who has most reserved, then who has most under way, the oldest first', () => {
    let resident = 84
    const guard = new MemoryGuard({ limit: 100 }, () => resident)
    const [small, old, large, young, other] = [work('a'), work('b'), work('c', 9), work('b'), work('d', 1)]
    for (const running of [small, old, large, young, other]) guard.watch(running)
    guard.look()
    expect(guard.ended).toBe(0)
    resident = 85
    guard.look()
    expect([large, other].map(({ reasons }) => reasons)).toEqual([[expect.any(Overloaded)], [expect.any(Overloaded)]])
    expect(guard.ended).toBe(2)
    guard.look()
    expect([old.reasons.length, young.reasons.length]).toEqual([1, 0])
  })

  it('spares who has one request under way and nothing reserved, until the last', () => {
    let resident = 94
    const guard = new MemoryGuard({ limit: 100 }, () => resident)
    const [one, other] = [work('a'), work('b')]
    for (const running of [one, other]) guard.watch(running)
    guard.look()
    expect(guard.ended).toBe(0)
    resident = 95
    guard.look()
    expect(guard.ended).toBe(1)
    guard.leave(other)
  })

  it('leaves finished work alone', () => {
    const guard = new MemoryGuard({ limit: 100 }, () => 100)
    const done = work('a')
    guard.watch(done)
    guard.leave(done)
    guard.look()
    expect(done.reasons).toEqual([])
  })
})
