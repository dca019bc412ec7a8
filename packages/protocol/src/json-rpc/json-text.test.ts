import { joinJson } from './json-text.js'

describe('joinJson', () => {
  it('joins strings into a string', () => {
    expect(joinJson(['{"a":', '"ä"', '}'])).toBe('{"a":"ä"}')
    expect(joinJson([])).toBe('')
  })

  it('joins strings and bytes into bytes in UTF-8', () => {
    const joined = joinJson(['{"a":', Buffer.from('1'), ',"b":"ä€"}'])
    expect(Buffer.isBuffer(joined)).toBe(true)
    expect(joined.toString()).toBe('{"a":1,"b":"ä€"}')
  })
})
