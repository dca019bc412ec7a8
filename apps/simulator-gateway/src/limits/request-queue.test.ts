import { Overloaded } from './overloaded.js'
import { ClientGone } from './request-lifetime.js'
import { RequestQueue } from './request-queue.js'

const never = new AbortController()

describe('RequestQueue', () => {
  it('lets in, queues in order, refuses', async () => {
    const queue = new RequestQueue(1, 2)
    const order: string[] = []
    expect(queue.enter(never)).toBeUndefined()
    const first = queue.enter(never)?.then(() => order.push('first'))
    const second = queue.enter(never)?.then(() => order.push('second'))
    expect(() => queue.enter(never)).toThrow(Overloaded)
    queue.leave()
    await first
    expect(order).toEqual(['first'])
    queue.leave()
    await second
    queue.leave()
    expect([queue.inFlight, queue.queued]).toEqual([0, 0])
  })

  it('drops a waiting request whose client is gone, and gives its turn to the next', async () => {
    const queue = new RequestQueue(1, 2)
    queue.enter(never)
    const gone = new AbortController()
    const dropped = queue.enter(gone)
    const next = queue.enter(never)
    gone.abort(new ClientGone())
    await expect(dropped).rejects.toThrow(ClientGone)
    queue.leave()
    await next
    expect([queue.inFlight, queue.queued]).toEqual([1, 0])
  })

  it('says so when the turn does not come in time', async () => {
    const queue = new RequestQueue(1, 2)
    queue.enter(never)
    const late = new AbortController()
    const waiting = queue.enter(late)
    late.abort(new Error('time is over'))
    await expect(waiting).rejects.toThrow(Overloaded)
    expect(queue.queued).toBe(0)
  })
})
