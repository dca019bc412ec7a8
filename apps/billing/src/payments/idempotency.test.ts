import { hashInput } from './idempotency.js'

describe('hashInput', () => {
  it('does not depend on the order of fields', () => {
    expect(hashInput({ a: 1, b: { c: 2n, d: [1, 2] } })).toBe(hashInput({ b: { d: [1, 2], c: 2n }, a: 1 }))
  })

  it('rejects input that is nested 10,000 levels deep', () => {
    let deep: unknown = 1
    for (let level = 0; level < 10_000; level++) deep = [deep]
    expect(() => hashInput({ deep })).toThrow('nested')
  })

  it('depends on names, values, types and the order of arrays', () => {
    const inputs = [{ a: 1 }, { a: '2' }, { a: [1, 2] }, { a: [2, 1] }, { a: null }, {}, { b: 1 }]
    expect(new Set(inputs.map(hashInput)).size).toBe(inputs.length)
  })
})
