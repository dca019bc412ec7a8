import { nextSlot } from './block-schedule.js'

const START = 1_700_000_000_000

/** Builds blocks for a day, each `late` milliseconds after its slot. @returns the difference between chain and clock, per block */
function driftsOfADay({ blockTimeMs = 2_000, ahead = 0, late = (_block: number) => 0 }): number[] {
  let head = BigInt(START / 1_000 + ahead)
  let now = START
  const drifts: number[] = []
  while (now < START + 86_400_000) {
    const { timestamp, sealAt } = nextSlot(head, now, blockTimeMs)
    if (timestamp <= head || sealAt <= now) throw new Error(`block ${drifts.length} does not come after its parent`)
    head = timestamp
    now = sealAt + late(drifts.length)
    drifts.push(Number(head) * 1_000 - now)
  }
  return drifts
}

describe('nextSlot', () => {
  it('keeps block timestamps equal to the clock for a day', () => {
    expect(Math.max(...driftsOfADay({}).map(Math.abs))).toBe(0)
  })

  it.each([
    ['every block is sealed late', () => 300],
    ['now and then one is sealed very late', (block: number) => (block % 50 === 49 ? 1_500 : 20)],
  ])('stays within one block time of the clock if %s', (_, late) => {
    expect(Math.max(...driftsOfADay({ late }).map(Math.abs))).toBeLessThanOrEqual(2_000)
  })

  it('slows down a chain that starts ahead of the clock until the clock catches up', () => {
    const drifts = driftsOfADay({ ahead: 40 })
    expect(drifts[0]).toBeGreaterThan(30_000)
    expect(Math.max(...drifts.slice(60).map(Math.abs))).toBe(0)
  })

  it('continues at the clock’s time after the machine slept', () => {
    const drifts = driftsOfADay({ late: (block) => (block === 10 ? 3_600_000 : 0) })
    expect(drifts[10]).toBe(-3_600_000)
    expect(Math.max(...drifts.slice(11).map(Math.abs))).toBeLessThanOrEqual(2_000)
  })

  it('spaces timestamps by the block time while the clock allows it', () => {
    let head = BigInt(START / 1_000)
    for (let now = START, n = 0; n < 100; n++) {
      const slot = nextSlot(head, now, 2_000)
      expect(slot.timestamp - head).toBe(2n)
      head = slot.timestamp
      now = slot.sealAt + 5
    }
  })
})
