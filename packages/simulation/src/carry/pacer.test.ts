import { Pacer } from './pacer.js'

const pacerWith = () => {
  const paces: string[] = []
  return { pacer: new Pacer((pace) => paces.push(pace)), paces }
}
const times = (count: number, run: () => void) => {
  for (let n = 0; n < count; n++) run()
}

describe('Pacer', () => {
  it('slows to every second block after 8 slow blocks in a row, and stops after 8 useless ones', () => {
    const { pacer, paces } = pacerWith()
    times(7, () => pacer.noteCarried(150, 200))
    pacer.noteCarried(90, 200)
    times(7, () => pacer.noteCarried(150, 200))
    expect(paces).toEqual([])
    pacer.noteCarried(150, 200)
    expect([pacer.allows(10n), pacer.allows(11n), pacer.allows(12n), pacer.allows(15n)]).toEqual([
      true,
      false,
      true,
      true,
    ])
    times(8, () => pacer.noteUseless('in vain'))
    expect(paces).toEqual(['everySecond', 'off'])
    expect(pacer.allows(16n)).toBe(false)
  })

  it('tries again after 5 minutes, and returns to every block once blocks are fast', () => {
    const { pacer, paces } = pacerWith()
    times(16, () => pacer.noteUseless('in vain'))
    expect(pacer.allows(20n, performance.now() + 310_000)).toBe(true)
    times(64, () => pacer.noteCarried(1, 200))
    expect(paces).toEqual(['everySecond', 'off', 'everySecond', 'each'])
    expect([pacer.allows(30n), pacer.allows(31n)]).toEqual([true, true])
  })

  it('stays off once distrusted', () => {
    const { pacer } = pacerWith()
    pacer.distrust()
    times(20, () => pacer.noteUseless('in vain'))
    expect([pacer.pace, pacer.allows(1n, performance.now() + 1e9)]).toEqual(['distrusted', false])
  })
})
