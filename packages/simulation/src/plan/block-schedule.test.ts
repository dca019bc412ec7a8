import { denimSchedule, mayShareSecond, nextTime } from './block-schedule.js'

/** Base mainnet: https://docs.base.org/base-chain/specs/upgrades/denim/overview */
const GENESIS = 1_686_789_347n
const DENIM = 1_793_901_600n

describe('denimSchedule', () => {
  const schedule = denimSchedule(GENESIS, DENIM)

  it('starts at the first block at or after the fork time', () => {
    expect(schedule.subsecond).toMatchObject({ number: 53_556_127n, timestamp: 1_793_901_601n })
    expect(denimSchedule(1_695_768_288n, 1_792_605_600n).subsecond).toMatchObject({
      number: 48_418_656n,
      timestamp: 1_792_605_600n,
    })
  })

  it('gives the specified times to a million blocks around the fork', () => {
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

  it('gives exactly five blocks to each second', () => {
    const shared = new Map<bigint, number>()
    let previous = 1_793_901_601n
    for (let number = 53_556_128n; number < 53_556_628n; number++) {
      previous = nextTime(schedule, number, previous)
      shared.set(previous, (shared.get(previous) ?? 0) + 1)
    }
    expect([...shared.values()].slice(1, -1).every((blocks) => blocks === 5)).toBe(true)
  })

  it('repeats an overridden time that is ahead of the schedule', () => {
    expect(nextTime(schedule, 53_556_200n, DENIM + 10_000n)).toBe(DENIM + 10_000n)
    expect(nextTime(schedule, 53_556_000n, DENIM - 5n)).toBe(DENIM - 3n)
  })

  it('allows blocks to share a second only from the fork on', () => {
    expect([DENIM - 1n, DENIM].map((time) => mayShareSecond(schedule, time))).toEqual([false, true])
    expect(mayShareSecond({ blockTime: 2n }, DENIM)).toBe(false)
  })
})

it('nextTime adds the block time on a chain without subsecond blocks', () => {
  expect(nextTime({ blockTime: 12n }, 7n, 100n)).toBe(112n)
})
