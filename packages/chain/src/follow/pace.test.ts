import { Pace } from './pace.js'

/** Blocks at this interval in milliseconds, with timestamps in whole seconds. */
const blockOf = (number: number, interval: number) => ({
  number: BigInt(number),
  timestamp: BigInt(Math.floor((number * interval) / 1_000)),
})
const paceOf = (interval: number, heads = 10) => {
  const pace = new Pace()
  for (let n = 0; n < heads; n++) pace.note(blockOf(n, interval), n * interval)
  return pace
}

describe('Pace', () => {
  it.each([200, 2_000, 12_000])('learns a block interval of %i ms although some are late or missed', (interval) => {
    const pace = new Pace()
    let at = 0
    for (let n = 0; n < 40; n++) {
      if (n % 7 === 3) continue
      at = n * interval + (n % 5) * 10
      pace.note(blockOf(n, interval), at)
    }
    expect(pace.intervalMs / interval).toBeCloseTo(1, 1)
    expect(pace.trustedUntil).toBeGreaterThan(at + 0.8 * interval)
    expect(pace.trustedUntil).toBeLessThan(at + interval)
    expect(pace.nextPollAt(at)).toBe(pace.trustedUntil)
    expect(pace.overdueMs).toBeGreaterThan(interval)
  })

  it('trusts a head from when the previous one was last known to be the head, not from its arrival', () => {
    const pace = paceOf(2_000)
    pace.note(blockOf(10, 2_000), 20_300, 19_900)
    expect(pace.trustedUntil).toBeLessThan(21_800)
  })

  it('asks repeatedly once a head is due, at growing intervals', () => {
    const pace = paceOf(2_000)
    expect(pace.nextPollAt(20_000)).toBe(20_100)
    expect(pace.nextPollAt(30_000)).toBe(30_600)
    expect(pace.nextPollAt(3_000_000)).toBe(3_002_000)
  })

  it('starts again if the head goes back, and follows a chain whose block interval changes', () => {
    const pace = paceOf(2_000)
    pace.note(blockOf(8, 2_000), 30_000)
    expect(pace.intervalMs).toBe(1_000)
    expect(pace.trustedUntil).toBeUndefined()
    for (let n = 1; n <= 20; n++) pace.note({ number: BigInt(8 + n), timestamp: BigInt(n) }, 30_000 + n * 200)
    expect(pace.intervalMs).toBe(200)
  })

  it('trusts no head after too few blocks, irregular blocks or a block per transaction', () => {
    expect(paceOf(2_000, 8).trustedUntil).toBeUndefined()
    const irregular = paceOf(2_000)
    irregular.note(blockOf(10, 2_000), 26_000)
    expect(irregular.trustedUntil).toBeUndefined()
    const onDemand = new Pace()
    for (let n = 0; n < 16; n++) onDemand.note({ number: BigInt(n), timestamp: BigInt(n) }, n * 100)
    expect(onDemand.trustedUntil).toBeUndefined()
  })

  it.each([
    [15, 400],
    [100, 200],
    [200, 30],
  ])('trusts no head if a client mines a block every %i ms, %i times', (interval, blocks) => {
    const pace = new Pace()
    for (let n = 0; n < blocks; n++) {
      pace.note(blockOf(n, interval), n * interval)
      expect(pace.trustedUntil).toBeUndefined()
    }
  })

  it('assumes an interval of 1 s before it has learnt one', () => {
    const pace = new Pace()
    expect(pace.intervalMs).toBe(1_000)
    expect(pace.nextPollAt(5)).toBe(1_005)
  })
})
