import { denimSchedule, mayShareSecond, nextTime } from './block-schedule.js'

/** Base mainnet: https://docs.base.org/base-chain/specs/upgrades/denim/overview */
const GENESIS = 1_686_789_347n
const DENIM = 1_793_901_600n

describe('Denim', () => {
  const schedule = denimSchedule(GENESIS, DENIM)

  it('begins at the block that the fork time falls to', () => {
    expect(schedule.subsecond).toMatchObject({ number: 53_556_127n, timestamp: 1_793_901_601n })
    expect(denimSchedule(1_695_768_288n, 1_792_605_600n).subsecond).toMatchObject({
      number: 48_418_656n,
      timestamp: 1_792_605_600n,
    })
  })

  it('follows the formula over a million blocks across the fork', () => {
    const first = 53_556_127n
    let previous = GENESIS + 2n * (first - 500_001n)
    let wrong = 0
    for (let number = first - 500_000n; number < first + 500_000n; number++) {
      const time = nextTime(schedule, number, previous)
      const expected =
        number < first ? GENESIS + 2n * number : (1_000n * 1_793_901_601n + 200n * (number - first)) / 1_000n
      if (time !== expected) wrong++
      previous = time
    }
    expect(wrong).toBe(0)
  })

  it('has five blocks share a second, and never more', () => {
    const shared = new Map<bigint, number>()
    let previous = 1_793_901_601n
    for (let number = 53_556_128n; number < 53_556_628n; number++) {
      previous = nextTime(schedule, number, previous)
      shared.set(previous, (shared.get(previous) ?? 0) + 1)
    }
    expect([...shared.values()].slice(1, -1).every((blocks) => blocks === 5)).toBe(true)
  })

  it('gives the same time again where the schedule lies behind a time that was set by hand', () => {
    expect(nextTime(schedule, 53_556_200n, DENIM + 10_000n)).toBe(DENIM + 10_000n)
    expect(nextTime(schedule, 53_556_000n, DENIM - 5n)).toBe(DENIM - 3n)
  })

  it('lets blocks share a second from the fork on', () => {
    expect([DENIM - 1n, DENIM].map((time) => mayShareSecond(schedule, time))).toEqual([false, true])
    expect(mayShareSecond({ blockTime: 2n }, DENIM)).toBe(false)
  })
})

it('is the block time where a chain has no such fork', () => {
  expect(nextTime({ blockTime: 12n }, 7n, 100n)).toBe(112n)
})
