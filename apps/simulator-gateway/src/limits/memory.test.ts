import { Memory, SMALL_BYTES } from './memory.js'
import { Overloaded } from './overloaded.js'

const MIB = 1024 * 1024

describe('Memory', () => {
  it('leaves the process its own part of the limit', () => {
    expect(new Memory(1056 * MIB).capacity).toBe(224 * MIB)
    expect(new Memory(256 * MIB).capacity).toBe(32 * MIB)
  })

  it('holds up to its capacity', () => {
    const memory = new Memory(800)
    memory.take(60)
    expect(() => memory.take(41)).toThrow(Overloaded)
    memory.take(40)
    memory.give(100)
    expect(memory.bytes).toBe(0)
  })

  it('gives one client’s bodies as much as stays free beside them, and others what is left', () => {
    const memory = new Memory(800)
    const greedy = memory.bodiesOf('a')
    greedy.take(30)
    greedy.take(20)
    expect(() => memory.bodiesOf('a').take(1)).toThrow(Overloaded)
    memory.bodiesOf('b').take(25)
    expect(() => memory.bodiesOf('b').take(1)).toThrow(Overloaded)
    memory.bodiesOf('c').take(12)
    greedy.give(50)
    memory.bodiesOf('b').take(6)
    expect(memory.bytes).toBe(43)
  })

  it('holds a large answer until it is given back, and no small one', () => {
    const memory = new Memory(2 * MIB)
    expect(memory.hold(SMALL_BYTES)).toBeUndefined()
    expect(memory.bytes).toBe(0)
    const give = memory.hold(SMALL_BYTES + 1)
    expect(memory.bytes).toBe(SMALL_BYTES + 1)
    give?.()
    expect(memory.bytes).toBe(0)
  })
})
