import { BufferedBytes, SMALL_BYTES } from './buffered-bytes.js'
import { Overloaded } from './overloaded.js'

describe('BufferedBytes', () => {
  it('holds up to its limit', () => {
    const budget = new BufferedBytes(100)
    budget.take(60)
    expect(() => budget.take(41)).toThrow(Overloaded)
    budget.take(40)
    budget.give(100)
    expect(budget.bytes).toBe(0)
  })

  it('holds a large answer until it is given back, and no small one', () => {
    const budget = new BufferedBytes(1_000_000)
    expect(budget.hold(SMALL_BYTES)).toBeUndefined()
    expect(budget.bytes).toBe(0)
    const give = budget.hold(SMALL_BYTES + 1)
    expect(budget.bytes).toBe(SMALL_BYTES + 1)
    give?.()
    expect(budget.bytes).toBe(0)
  })
})
