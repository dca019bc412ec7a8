import { setTimeout as sleep } from 'node:timers/promises'
import { SharedLookup } from './shared-lookup.js'

function counted(delayMs: number) {
  let asked = 0
  const lookup = new SharedLookup(async () => {
    asked += 1
    const answer = asked
    await sleep(delayMs)
    return answer
  })
  return { lookup, asked: () => asked }
}

describe('a shared lookup', () => {
  it('is one for all who ask at the same moment', async () => {
    const { lookup, asked } = counted(5)
    expect(await Promise.all([lookup.get(), lookup.get(), lookup.get()])).toEqual([1, 1, 1])
    expect(asked()).toBe(1)
  })

  it('is a new one for who asks later, though the first is still under way', async () => {
    const { lookup } = counted(30)
    const first = lookup.get()
    await sleep(5)
    const second = lookup.get()
    expect(await first).toBe(1)
    expect(await second).toBe(2)
  })

  it('never has more than a few under way, and none of them older than its asker', async () => {
    const { lookup, asked } = counted(100)
    const started: { at: number; answer: number | Promise<number> }[] = []
    for (let n = 0; n < 8; n += 1) {
      started.push({ at: asked(), answer: lookup.get() })
      await sleep(3)
    }
    expect(asked()).toBe(4)
    for (const { at, answer } of started) expect(await answer).toBeGreaterThan(at)
  })

  it('does not keep a failure', async () => {
    let fails = true
    const lookup = new SharedLookup(async () => {
      if (fails) throw new Error('down')
      return 'up'
    })
    await expect(lookup.get()).rejects.toThrow('down')
    fails = false
    await sleep(2)
    expect(await lookup.get()).toBe('up')
  })

  it('asks far less often than it is asked under load', async () => {
    const { lookup, asked } = counted(0)
    const clock = performance.now
    let now = performance.now()
    performance.now = () => now
    try {
      for (let request = 0; request < 2_000; request += 1) {
        await lookup.get()
        now += 0.1
      }
    } finally {
      performance.now = clock
    }
    expect(asked()).toBeLessThan(100)
  })
})
