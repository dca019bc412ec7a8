import { Pace } from './pace.js'

const paceOf = (interval: number, heads = 10) => {
  const pace = new Pace()
  for (let n = 0; n < heads; n++) pace.note(BigInt(100 + n), n * interval)
  return pace
}

describe('Pace', () => {
  it.each([200, 2_000, 12_000])('learns blocks of %i ms, seen now and then late or missed', (interval) => {
    const pace = new Pace()
    let at = 0
    for (let n = 0; n < 40; n++) {
      if (n % 7 === 3) continue
      at = n * interval + (n % 5) * 10
      pace.note(BigInt(n), at)
    }
    expect(pace.intervalMs / interval).toBeCloseTo(1, 1)
    expect(pace.nextAsk(at)).toBeGreaterThan(at + interval)
    expect(pace.nextAsk(at)).toBeLessThan(at + 1.2 * interval)
  })

  it('asks again and again once a head is due, an eighth of the interval apart', () => {
    const pace = paceOf(2_000)
    expect(pace.nextAsk(20_500)).toBe(20_750)
  })

  it('begins anew when the head goes back, and follows a chain that changes its pace', () => {
    const pace = paceOf(2_000)
    pace.note(105n, 30_000)
    expect(pace.intervalMs).toBe(1_000)
    for (let n = 1; n <= 20; n++) pace.note(BigInt(105 + n), 30_000 + n * 200)
    expect(pace.intervalMs).toBe(200)
  })

  it('knows an interval before it has learnt one', () => {
    const pace = new Pace()
    expect(pace.intervalMs).toBe(1_000)
    expect(pace.nextAsk(5)).toBe(1_055)
  })
})
