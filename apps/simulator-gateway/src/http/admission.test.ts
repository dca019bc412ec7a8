import { Admission } from './admission.js'
import { Overloaded } from './overloaded.js'
import { ClientGone } from './request-lifetime.js'

const never = new AbortController()

describe('Admission', () => {
  it('lets in, queues in order, refuses', async () => {
    const admission = new Admission(1, 2)
    const order: string[] = []
    expect(admission.enter(never)).toBeUndefined()
    const first = admission.enter(never)?.then(() => order.push('first'))
    const second = admission.enter(never)?.then(() => order.push('second'))
    expect(() => admission.enter(never)).toThrow(Overloaded)
    admission.leave()
    await first
    expect(order).toEqual(['first'])
    admission.leave()
    await second
    admission.leave()
    expect([admission.inFlight, admission.queued]).toEqual([0, 0])
  })

  it('drops a waiting request whose client is gone, and gives its turn to the next', async () => {
    const admission = new Admission(1, 2)
    admission.enter(never)
    const gone = new AbortController()
    const dropped = admission.enter(gone)
    const next = admission.enter(never)
    gone.abort(new ClientGone())
    await expect(dropped).rejects.toThrow(ClientGone)
    admission.leave()
    await next
    expect([admission.inFlight, admission.queued]).toEqual([1, 0])
  })

  it('says so when the turn does not come in time', async () => {
    const admission = new Admission(1, 2)
    admission.enter(never)
    const late = new AbortController()
    const waiting = admission.enter(late)
    late.abort(new Error('time is over'))
    await expect(waiting).rejects.toThrow(Overloaded)
    expect(admission.queued).toBe(0)
  })
})
