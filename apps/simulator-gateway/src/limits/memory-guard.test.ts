import { MemoryGuard } from './memory-guard.js'
import { Overloaded } from './overloaded.js'
import { RequestQueue } from './request-queue.js'

function work(client: string) {
  const reasons: Error[] = []
  return { client, reasons, cancel: (reason: Error) => void reasons.push(reason) }
}

const queue = new RequestQueue(64, 0)

describe('MemoryGuard', () => {
  it('ends half of the work while memory is short, the newest of the client with the most first, and then all of it', () => {
    let resident = 74
    const guard = new MemoryGuard({ limit: 100 }, queue, () => resident)
    const [first, other, second] = [work('a'), work('b'), work('a')]
    for (const running of [first, other, second]) guard.watch(running)
    guard.look()
    expect(guard.ended).toBe(0)
    resident = 75
    guard.look()
    expect(second.reasons).toEqual([expect.any(Overloaded)])
    // Half of three, but two are spared.
    expect(guard.ended).toBe(1)
    guard.look()
    expect([...first.reasons, ...other.reasons]).toEqual([])
    resident = 100
    guard.look()
    expect(guard.ended).toBe(3)
    guard.look()
    expect(guard.ended).toBe(3)
    for (const running of [first, other, second]) guard.leave(running)
  })

  it('leaves finished work alone', () => {
    const guard = new MemoryGuard({ limit: 100 }, queue, () => 100)
    const done = work('a')
    guard.watch(done)
    guard.leave(done)
    guard.look()
    expect(done.reasons).toEqual([])
  })
})
