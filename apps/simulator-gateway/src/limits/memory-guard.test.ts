import { MemoryGuard } from './memory-guard.js'
import { Overloaded } from './overloaded.js'

function work(client: string) {
  const reasons: Error[] = []
  return { client, reasons, cancel: (reason: Error) => void reasons.push(reason) }
}

describe('MemoryGuard', () => {
  it('ends the newest work of the client with the most, while memory is short', () => {
    let resident = 74
    const guard = new MemoryGuard({ limit: 100 }, () => resident)
    const [first, other, second] = [work('a'), work('b'), work('a')]
    for (const running of [first, other, second]) guard.watch(running)
    guard.look()
    expect(guard.ended).toBe(0)
    resident = 75
    guard.look()
    expect(second.reasons).toEqual([expect.any(Overloaded)])
    expect([...first.reasons, ...other.reasons]).toEqual([])
    expect([...first.reasons, ...other.reasons]).toEqual([])
    resident = 100
    guard.look()
    expect(guard.ended).toBe(3)
    guard.look()
    expect(guard.ended).toBe(3)
    for (const running of [first, other, second]) guard.leave(running)
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
