import { NextHead } from './next-head.js'
import { Pace } from './pace.js'

const INTERVAL = 2_000
const TRIP = 40

/** Announces blocks at a regular pace, with these delays. */
function told(delays: readonly number[]) {
  const pace = new Pace()
  const next = new NextHead(pace)
  next.noteRoundTrip(TRIP)
  for (const [index, delay] of delays.entries()) {
    const at = index * INTERVAL + delay
    pace.note({ number: BigInt(index), timestamp: BigInt(index * 2) }, at)
    next.noteAnnounced(BigInt(index), at)
  }
  return next
}
const EVEN = [0, 5, 0, 5, 0, 5, 0, 5, 0]

describe('NextHead', () => {
  it('asks half a round trip before the announcement, and earlier each time until a block is not there yet', () => {
    const next = told(EVEN)
    const first = next.askAt(9n)!
    expect(9 * INTERVAL - first).toBeGreaterThan(TRIP / 2 - 10)
    expect(9 * INTERVAL - first).toBeLessThan(TRIP / 2 + 10)
    for (let n = 0; n < 8; n += 1) next.noteAnswer(8n, true)
    expect(first - next.askAt(9n)!).toBeCloseTo(8)
    next.noteAnswer(8n, false)
    expect(first - next.askAt(9n)!).toBeCloseTo(-8)
  })

  it('asks at most two round trips before the expected announcement and at most a quarter interval after it', () => {
    const next = told(EVEN)
    for (let n = 0; n < 1_000; n += 1) next.noteAnswer(8n, true)
    expect(9 * INTERVAL - next.askAt(9n)!).toBeLessThanOrEqual(2 * TRIP + 5)
    for (let n = 0; n < 1_000; n += 1) next.noteAnswer(-100n, false)
    expect(next.askAt(9n)! - 9 * INTERVAL).toBeLessThanOrEqual(INTERVAL / 4 + 5)
  })

  it('asks earlier again after a block was announced before it was asked for', () => {
    const next = told(EVEN)
    for (let n = 0; n < 10; n += 1) next.noteAnswer(-100n, false)
    const before = next.askAt(9n)!
    next.noteAnnounced(9n, 9 * INTERVAL)
    expect(next.askAt(10n)! - before).toBeLessThan(INTERVAL)
    next.noteRequested()
  })

  it('ignores a single late announcement', () => {
    const late = told([...EVEN.slice(0, 4), 700, ...EVEN.slice(5)]).askAt(9n)!
    expect(Math.abs(late - told(EVEN).askAt(9n)!)).toBeLessThan(10)
  })

  it.each([
    ['too few announcements', told(EVEN.slice(0, 5)), 5n],
    ['announcements at no fixed pace', told([0, 1_500, 0, 1_500, 0, 1_500, 0, 1_500, 0]), 9n],
    ['a block whose parent was not announced', told(EVEN), 10n],
    ['a block that was announced', told(EVEN), 8n],
  ])('asks for no block after %s', (_, next, number) => {
    expect(next.askAt(number)).toBeUndefined()
  })

  it('skips blocks after early requests that found none: 0 after the first, then 1, 3, 7', () => {
    const next = told(EVEN)
    for (const number of [8n, 7n, 5n, 1n]) {
      next.noteAnswer(number, false)
      expect(next.askAt(9n)).toBeDefined()
    }
    next.noteAnswer(-6n, false)
    expect(next.askAt(9n)).toBeUndefined()
    next.noteAnswer(8n, true)
    next.noteAnswer(8n, false)
    expect(next.askAt(9n)).toBeDefined()
  })

  it('forgets earlier announcements if block numbers go back', () => {
    const next = told(EVEN)
    next.noteAnnounced(5n, 20_000)
    expect(next.askAt(6n)).toBeUndefined()
  })
})
