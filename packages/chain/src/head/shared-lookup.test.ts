import { SharedLookup } from './shared-lookup.js'

const clock = performance.now
let now = 0

beforeEach(() => {
  now = 1_000
  performance.now = () => now
})
afterEach(() => {
  performance.now = clock
})

/** A lookup that numbers its requests from 1, and answers each with its number on the test's command. */
function counted() {
  const open: (() => void)[] = []
  let asked = 0
  const lookup = new SharedLookup(() => {
    asked += 1
    const number = asked
    return new Promise<number>((resolve) => open.push(() => resolve(number)))
  })
  return { lookup, asked: () => asked, answerAll: () => open.splice(0).map((answer) => answer()) }
}

describe('SharedLookup', () => {
  it('sends one request for callers at the same moment', async () => {
    const { lookup, asked, answerAll } = counted()
    const answers = Promise.all([lookup.get(), lookup.get(), lookup.get()])
    answerAll()
    expect(await answers).toEqual([1, 1, 1])
    expect(asked()).toBe(1)
  })

  it('sends a new request for a later caller while the first is still running', async () => {
    const { lookup, answerAll } = counted()
    const first = lookup.get()
    now += 5
    const second = lookup.get()
    answerAll()
    expect([await first, await second]).toEqual([1, 2])
  })

  it('runs at most four requests at once, and returns no answer that was requested before the call', async () => {
    const { lookup, asked, answerAll } = counted()
    const started: { before: number; answer: number | Promise<number> }[] = []
    for (let n = 0; n < 8; n += 1) {
      started.push({ before: asked(), answer: lookup.get() })
      now += 3
    }
    expect(asked()).toBe(4)
    answerAll()
    await new Promise(setImmediate)
    expect(asked()).toBe(5)
    answerAll()
    for (const { before, answer } of started) expect(await answer).toBeGreaterThan(before)
  })

  it('does not cache a failure', async () => {
    let fails = true
    const lookup = new SharedLookup(async () => {
      if (fails) throw new Error('down')
      return 'up'
    })
    await expect(lookup.get()).rejects.toThrow('down')
    fails = false
    now += 2
    expect(await lookup.get()).toBe('up')
  })

  it('sends fewer than 100 requests for 2,000 calls in 200 ms', async () => {
    const { lookup, asked, answerAll } = counted()
    for (let request = 0; request < 2_000; request += 1) {
      const answer = lookup.get()
      answerAll()
      await answer
      now += 0.1
    }
    expect(asked()).toBeLessThan(100)
  })
})
