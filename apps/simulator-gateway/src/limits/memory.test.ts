import { Memory, SMALL_BYTES } from './memory.js'
import { Overloaded } from './refused.js'

const MIB = 1024 * 1024

describe('Memory', () => {
  it('keeps part of the memory limit for the process itself', () => {
    expect(new Memory(1024 * MIB).capacity).toBe(320 * MIB)
    expect(new Memory(256 * MIB).capacity).toBe(48 * MIB)
  })

  it('throws Overloaded beyond its capacity', () => {
    const memory = new Memory(640)
    memory.take(60)
    expect(() => memory.take(61)).toThrow(Overloaded)
    memory.take(60)
    memory.give(120)
    expect(memory.bytes).toBe(0)
  })

  it('limits one client’s bodies to half of the free space', () => {
    // Capacity 128, of which 112 for bodies.
    const memory = new Memory(688)
    const greedy = memory.bodiesOf('a')
    greedy.take(30)
    greedy.take(26)
    expect(() => memory.bodiesOf('a').take(1)).toThrow(Overloaded)
    memory.bodiesOf('b').take(28)
    expect(() => memory.bodiesOf('b').take(1)).toThrow(Overloaded)
    memory.bodiesOf('c').take(14)
    greedy.give(56)
    memory.bodiesOf('b').take(6)
    expect(memory.bytes).toBe(48)
  })

  it('reserves memory for a large answer until it is released, and none for a small one', () => {
    const memory = new Memory(2 * MIB)
    expect(memory.hold(SMALL_BYTES)).toBeUndefined()
    expect(memory.bytes).toBe(0)
    const give = memory.hold(SMALL_BYTES + 1)
    expect(memory.bytes).toBe(SMALL_BYTES + 1)
    give?.()
    expect(memory.bytes).toBe(0)
  })
})
