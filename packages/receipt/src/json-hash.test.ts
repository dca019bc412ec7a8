import { jsonHash } from './json-hash.js'

it('jsonHash does not depend on the order of fields', () => {
  expect(jsonHash({ b: [1, null], a: 'é' })).toBe(jsonHash(JSON.parse('{ "a": "\\u00e9", "b": [1.0, null] }')))
})

it('jsonHash is the SHA-256 of the canonical JSON', () => {
  // printf '{"a":1}' | sha256sum
  expect(jsonHash({ a: 1 })).toBe('0x015abd7f5cc57a2dd94b7590f04ad8084273905ee33ec5cebeae62276a97f862')
})

it.each([[undefined], [{ a: Number.POSITIVE_INFINITY }]])('jsonHash refuses a value that is not JSON: %j', (value) => {
  expect(() => jsonHash(value)).toThrow()
})
