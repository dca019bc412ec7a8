import { resultText, resultTextInParts } from './result-text.js'
import { Secrets } from './secrets.js'

const PLAIN = new Secrets(new URL('http://node.example'))
const KEYED = new Secrets(new URL('http://node.example/v3/0123456789abcdef0123456789abcdef'))

function found(text: string, secrets = PLAIN): string | undefined {
  const parts = resultTextInParts(text, 7, secrets)
  for (;;) {
    const { done, value } = parts.next()
    if (done) return value
  }
}

const answer = (result: string) => `{"jsonrpc":"2.0","id":7,"result":${result}}`
const log = {
  address: `0x${'11'.repeat(20)}`,
  topics: [`0x${'22'.repeat(32)}`],
  data: '0x',
  removed: false,
  logIndex: 1,
}

describe('resultText', () => {
  it('finds the text of the result in an answer on one line', () => {
    expect(resultText(`${answer('[1')}\n`, 7)).toBe('[1')
    for (const text of [answer('[]').replace('7', '8'), answer('[\n]'), '[]'])
      expect(resultText(text, 7)).toBeUndefined()
  })
})

describe('resultTextInParts', () => {
  it.each([
    'null',
    '"0x"',
    '[]',
    '{}',
    '[1,-2.5e3,true]',
    JSON.stringify(Array(3_000).fill(log)),
    '{"a":[{"b":{}}], "c": ""}',
  ])('finds the result %.20s unchanged', (result) => {
    expect(found(answer(result))).toBe(result)
    expect(found(`${answer(result)}\n`)).toBe(result)
  })

  it.each([
    ['another id', answer('[]').replace('7', '8')],
    ['an error', '{"jsonrpc":"2.0","id":7,"error":{"code":1,"message":"no"}}'],
    ['more than a result', answer('[],"error":{"code":1}')],
    ['two values', answer('[] []')],
    ['an end that is missing', answer('[{"a":1]')],
    ['a comma too many', answer('[1,]')],
    ['no comma', answer('["a" "b"]')],
    ['a key without a value', answer('{"a"}')],
    ['a key that is none', answer('{1:2}')],
    ['a text without an end', answer('["a]')],
    ['a word', answer('[undefined]')],
    ['an escape', answer('["\\u0041"]')],
    ['a control character', answer('["\u0001"]')],
    ['nothing', answer('')],
    ['what was cut short', answer('[1,2]').slice(0, -1)],
    ['many different texts', answer(JSON.stringify(Array.from({ length: 2_000 }, (_, at) => `text ${at}`)))],
  ])('leaves %s to JSON.parse', (_, text) => {
    expect(found(text)).toBeUndefined()
  })

  it('leaves a result that may contain a part of the URL to JSON.parse', () => {
    const key = '0123456789abcdef0123456789abcdef'
    expect(found(answer('["nothing"]'), KEYED)).toBe('["nothing"]')
    for (const result of [
      `["a ${key}"]`,
      `["0x${'00'.repeat(200_000)}${key}"]`,
      `[{"${Buffer.from(key).toString('base64')}":1}]`,
    ])
      expect(found(answer(result), KEYED)).toBeUndefined()
  })
})
