import { SpareTime } from './spare-time.js'

describe('SpareTime', () => {
  const made = (idle = () => Promise.resolve(), maxWaiting = 2) => {
    const failures: unknown[] = []
    return { failures, spare: new SpareTime({ idle, maxWaiting, onFailure: (error) => failures.push(error) }) }
  }

  it('starts no work until the gateway is idle, then runs urgent work first', async () => {
    const idle = eventually()
    const { spare } = made(() => idle.promise)
    const done: string[] = []
    const last = eventually()
    spare.add(async () => {
      done.push('ordinary')
      last.resolve()
    })
    spare.addUrgent(async () => {
      done.push('urgent')
    })
    await new Promise((resolve) => setImmediate(resolve))
    expect(done).toEqual([])
    idle.resolve()
    await last.promise
    expect(done).toEqual(['urgent', 'ordinary'])
    spare.end()
  })

  it('runs the newest ordinary work first, drops the oldest, and rejects urgent work beyond its limit', async () => {
    const idle = eventually()
    const { spare } = made(() => idle.promise)
    const done: number[] = []
    const last = eventually()
    const ordinary = (n: number) => async () => {
      done.push(n)
      if (n === 2) last.resolve()
    }
    expect([1, 2, 3].map((n) => spare.add(ordinary(n)))).toEqual([true, true, false])
    expect([4, 5, 6].map((n) => spare.addUrgent(ordinary(n)))).toEqual([true, true, false])
    expect(spare.waiting).toBe(4)
    idle.resolve()
    await last.promise
    expect(done).toEqual([4, 5, 3, 2])
    spare.end()
  })

  it('continues after a failure and runs nothing after end()', async () => {
    const { spare, failures } = made()
    const later = eventually()
    spare.addUrgent(() => Promise.reject(new Error('no')))
    spare.add(async () => later.resolve())
    await later.promise
    expect(failures).toEqual([new Error('no')])
    spare.end()
    let isDone = false
    spare.add(async () => {
      isDone = true
    })
    await new Promise((resolve) => setImmediate(resolve))
    expect(isDone).toBe(false)
  })
})

/** A promise and its resolve function. */
function eventually(): { promise: Promise<void>; resolve: () => void } {
  let settle: (() => void) | undefined
  const promise = new Promise<void>((done) => {
    settle = done
  })
  return { promise, resolve: () => settle?.() }
}
