import { EventEmitter } from 'node:events'
import type { ServerResponse } from 'node:http'
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

  it('holds a large answer until its response is closed, and no small one', () => {
    const budget = new BufferedBytes(1_000_000)
    const response = new EventEmitter() as unknown as ServerResponse
    budget.hold(SMALL_BYTES, response)
    expect(budget.bytes).toBe(0)
    budget.hold(SMALL_BYTES + 1, response)
    expect(budget.bytes).toBe(SMALL_BYTES + 1)
    response.emit('close')
    expect(budget.bytes).toBe(0)
  })
})
