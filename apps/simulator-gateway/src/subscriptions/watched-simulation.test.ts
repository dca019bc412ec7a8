import { ErrorCode } from '@upfront/protocol'
import type { Subscriber } from './subscriber.js'
import { WatchedSimulation } from './watched-simulation.js'

const { jest } = import.meta

beforeEach(() => void jest.useFakeTimers())
afterEach(() => void jest.useRealTimers())

const REFUSED = JSON.stringify({ error: { code: ErrorCode.limitExceeded, message: 'more than 50 calls in a second' } })
const DONE = JSON.stringify({ result: [{ calls: [{ status: '0x1', logs: [] }] }] })

function watching(answers: string[]) {
  const told: string[] = []
  let asked = 0
  const call = async () => answers[Math.min(asked++, answers.length - 1)]
  const watch = new WatchedSimulation({ call } as unknown as Subscriber, '[]', (answer) => told.push(answer))
  return { watch, told, asked: () => asked }
}

describe('WatchedSimulation', () => {
  it('pauses after a refusal, longer after each further one, regardless of new heads, then sends the result', async () => {
    const { watch, told, asked } = watching([REFUSED, REFUSED, DONE])
    await watch.run()
    for (let head = 0; head < 5; head += 1) await watch.run()
    expect(asked()).toBe(1)
    await jest.advanceTimersByTimeAsync(1_000)
    expect(asked()).toBe(2)
    await jest.advanceTimersByTimeAsync(1_999)
    expect(asked()).toBe(2)
    await jest.advanceTimersByTimeAsync(1)
    expect(told).toEqual([JSON.stringify({ result: [{ calls: [{ status: '0x1', logs: [] }] }] })])
    await watch.run()
    expect(asked()).toBe(4)
  })

  it('does not run again after end()', async () => {
    const { watch, asked } = watching([REFUSED])
    await watch.run()
    watch.end()
    await jest.advanceTimersByTimeAsync(60_000)
    expect([asked(), jest.getTimerCount()]).toEqual([1, 0])
  })
})
