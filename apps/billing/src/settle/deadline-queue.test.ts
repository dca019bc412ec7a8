import { DeadlineQueue } from './deadline-queue.js'

const expiring = (deadline: bigint, name = '') => ({ deadline, name })

describe('DeadlineQueue', () => {
  it('gives what expires first, and what came first of those that expire together', () => {
    const queue = new DeadlineQueue<ReturnType<typeof expiring>>()
    const items = [expiring(30n), expiring(10n, 'first'), expiring(20n), expiring(10n, 'second')]
    for (const item of items) queue.add(item)
    const taken = items.map(() => queue.take())
    expect(taken.map((item) => item?.deadline)).toEqual([10n, 10n, 20n, 30n])
    expect(taken.slice(0, 2).map((item) => item?.name)).toEqual(['first', 'second'])
    expect(queue.take()).toBeUndefined()
  })

  it('holds each once', () => {
    const queue = new DeadlineQueue<ReturnType<typeof expiring>>()
    const item = expiring(1n)
    queue.add(item)
    queue.add(item)
    expect(queue.size).toBe(1)
    queue.clear()
    expect(queue.size).toBe(0)
  })
})
