import { Pacer } from './pacer.js'

const pacerWith = () => {
  const paces: string[] = []
  return { pacer: new Pacer((pace) => paces.push(pace)), paces }
}
const times = (count: number, run: () => void) => {
  for (let n = 0; n < count; n++) run()
}

describe('Pacer', () => {
  it('steps down to every second block, then off, where blocks in a row take too long', () => {
    const { pacer, paces } = pacerWith()
    times(7, () => pacer.took(150, 200))
    pacer.took(90, 200)
    times(7, () => pacer.took(150, 200))
    expect(paces).toEqual([])
    pacer.took(150, 200)
    expect([pacer.allows(10n), pacer.allows(11n), pacer.allows(12n), pacer.allows(15n)]).toEqual([
      true,
      false,
      true,
      true,
    ])
    times(8, () => pacer.useless('in vain'))
    expect(paces).toEqual(['everySecond', 'off'])
    expect(pacer.allows(16n)).toBe(false)
  })

  it('tries again after a while, and goes back to each block once that is quick', () => {
    const { pacer, paces } = pacerWith()
    times(16, () => pacer.useless('in vain'))
    expect(pacer.allows(20n, performance.now() + 310_000)).toBe(true)
    times(64, () => pacer.took(1, 200))
    expect(paces).toEqual(['everySecond', 'off', 'everySecond', 'each'])
    expect([pacer.allows(30n), pacer.allows(31n)]).toEqual([true, true])
  })

  it('stays off once it is distrusted', () => {
    const { pacer } = pacerWith()
    pacer.distrust()
    times(20, () => pacer.useless('in vain'))
    expect([pacer.pace, pacer.allows(1n, performance.now() + 1e9)]).toEqual(['distrusted', false])
  })
})
