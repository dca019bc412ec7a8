import fc from 'fast-check'
import { RpcError } from '../rpc-error.js'
import { DEFAULT_ENVELOPE_LIMITS, decodeEnvelope } from './envelope.js'

function codeOf(text: string): number | undefined {
  try {
    decodeEnvelope(text)
    return undefined
  } catch (error) {
    if (error instanceof RpcError) return error.code
    throw error
  }
}

const onlyEntry = (text: string) => {
  const envelope = decodeEnvelope(text)
  expect(envelope.entries).toHaveLength(1)
  return envelope.entries[0]
}

describe('decodeEnvelope', () => {
  it.each([
    ['1', 1],
    ['"1"', '1'],
    ['null', null],
    ['""', ''],
    ['1.5', 1.5],
    ['9007199254740991', 9007199254740991],
    ['"\\ud800"', '\ud800'],
  ])('keeps the id %s', (id, expected) => {
    expect(onlyEntry(`{"jsonrpc":"2.0","id":${id},"method":"m","params":[1]}`)).toEqual({
      kind: 'request',
      id: expected,
      method: 'm',
      params: [1],
    })
  })

  it('distinguishes a notification from a request with id null', () => {
    expect(onlyEntry('{"jsonrpc":"2.0","method":"m"}')).toEqual({
      kind: 'notification',
      method: 'm',
      params: undefined,
    })
  })

  it.each([
    ['no object', '1', null, 'expected a request object, got 1'],
    ['null', 'null', null, 'expected a request object, got null'],
    ['no version', '{"id":7,"method":"m"}', 7, 'jsonrpc: expected "2.0", got nothing'],
    ['wrong version', '{"jsonrpc":"1.0","id":7,"method":"m"}', 7, 'jsonrpc: expected "2.0", got "1.0"'],
    ['no method', '{"jsonrpc":"2.0","id":"a"}', 'a', 'method: expected a string, got nothing'],
    [
      'method of a wrong type',
      '{"jsonrpc":"2.0","id":"a","method":{}}',
      'a',
      'method: expected a string, got an object',
    ],
    [
      'params of a wrong type',
      '{"jsonrpc":"2.0","id":1,"method":"m","params":"x"}',
      1,
      'params: expected an array or an object, got "x"',
    ],
    [
      'id an object',
      '{"jsonrpc":"2.0","id":{},"method":"m"}',
      null,
      'id: expected a string, a number or null, got an object',
    ],
    [
      'id a boolean',
      '{"jsonrpc":"2.0","id":true,"method":"m"}',
      null,
      'id: expected a string, a number or null, got true',
    ],
    [
      'method inside __proto__',
      '{"__proto__":{"jsonrpc":"2.0","method":"m"},"id":1}',
      1,
      'jsonrpc: expected "2.0", got nothing',
    ],
  ])('rejects %s', (_name, text, id, message) => {
    expect(onlyEntry(text)).toEqual({ kind: 'invalid', id, error: expect.objectContaining({ code: -32600, message }) })
  })

  it('rejects an id beyond a double’s precision instead of changing it', () => {
    for (const id of ['9007199254740993', '1e400', '1'.repeat(1_000_000)]) {
      expect(onlyEntry(`{"jsonrpc":"2.0","id":${id},"method":"m"}`)).toMatchObject({ kind: 'invalid', id: null })
    }
  })

  it('decodes each entry of a batch', () => {
    const envelope = decodeEnvelope('[{"jsonrpc":"2.0","id":1,"method":"a"},[],{"jsonrpc":"2.0","method":"b"}]')
    expect(envelope.batch).toBe(true)
    expect(envelope.entries.map((entry) => entry.kind)).toEqual(['request', 'invalid', 'notification'])
  })

  it('returns one error for invalid JSON, an empty batch or a batch that is too long', () => {
    for (const text of ['', '{', 'undefined', '{"jsonrpc":"2.0",}', '\u0000', '[1,']) expect(codeOf(text)).toBe(-32700)
    expect(codeOf('[]')).toBe(-32600)
    expect(codeOf(`[${Array(DEFAULT_ENVELOPE_LIMITS.batchLength + 1).fill('1')}]`)).toBe(-32005)
  })

  it('rejects deep nesting and millions of values before it builds them', () => {
    expect(codeOf('['.repeat(5_000_000))).toBe(-32600)
    expect(codeOf('{"a":'.repeat(1_000_000))).toBe(-32600)
    expect(codeOf(`[${'{},'.repeat(2_000_001)}{}]`)).toBe(-32600)
  })

  it('does not count brackets within strings', () => {
    const text = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'm', params: [`${'[{"\\'.repeat(100_000)}`, '\\'] })
    expect(onlyEntry(text)).toMatchObject({ kind: 'request', id: 1 })
  })

  it('throws nothing but an RpcError, for any text', () => {
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string(),
          fc.json(),
          fc.json().map((json) => `[${json}]`),
        ),
        (text) => {
          const code = codeOf(text)
          return code === undefined || [-32700, -32600, -32005].includes(code)
        },
      ),
    )
  })

  it('accepts any JSON value as params', () => {
    fc.assert(
      fc.property(
        fc.string(),
        fc.array(fc.jsonValue()),
        fc.oneof(fc.string(), fc.maxSafeInteger()),
        (method, params, id) => {
          expect(onlyEntry(JSON.stringify({ jsonrpc: '2.0', id, method, params }))).toEqual(
            JSON.parse(JSON.stringify({ kind: 'request', id, method, params })),
          )
        },
      ),
    )
  })
})
