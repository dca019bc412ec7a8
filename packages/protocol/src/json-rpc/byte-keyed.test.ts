import fc from 'fast-check'
import { byteKeyed, parseBody, plainJson } from './byte-keyed.js'

function outcome(parse: (text: string) => unknown, text: string): unknown {
  try {
    return plainJson(parse(text))
  } catch (error) {
    return (error as Error).name
  }
}

const request = (params: unknown) => JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'eth_simulateV1', params })

describe('parseBody', () => {
  it('reads override maps into lists instead of objects', () => {
    const text = request([{ stateOverrides: { '0xa': { stateDiff: { '0x1': '0x2', '0x3': '0x4' }, balance: '0x0' } } }])
    const { params } = parseBody(text) as { params: [{ stateOverrides: unknown }] }
    const accounts = params[0].stateOverrides
    expect(Array.isArray(accounts)).toBe(true)
    const [[address, account]] = [...byteKeyed(accounts)!] as [[string, { stateDiff: unknown; balance: string }]]
    expect([address, account.balance]).toEqual(['0xa', '0x0'])
    expect([...byteKeyed(account.stateDiff)!]).toEqual([
      ['0x1', '0x2'],
      ['0x3', '0x4'],
    ])
    expect(plainJson(parseBody(text))).toEqual(JSON.parse(text))
  })

  it('parses all but a single simulation request as JSON.parse does', () => {
    const overrides = { '0xa': { stateDiff: { '0x1': '0x2' } } }
    for (const text of [
      JSON.stringify({ method: 'eth_call', params: [{ stateDiff: { '0x1': 'eth_simulateV1' } }, 'latest', overrides] }),
      JSON.stringify([{ method: 'eth_simulateV1', params: [{ stateOverrides: overrides }] }]),
      '{"method":"eth_simulateV1","method":"eth_call","params":[{"stateDiff":{"0x1":"0x2"}}]}',
    ])
      expect(JSON.stringify(parseBody(text))).toBe(JSON.stringify(JSON.parse(text)))
  })

  it('takes the last value of a duplicate key, as JSON.parse does', () => {
    const text = request([{ stateDiff: { '0x1': 1, '0x2': 2 } }]).replace('0x2', '0x1')
    expect(plainJson(parseBody(text))).toEqual(JSON.parse(text))
  })

  it.each([
    '{"0x1"}',
    '{"0x1":}',
    '{"0x1":1,}',
    '{"0x1","0x2"}',
    '{"0x1":1]',
    '{"0x1":1:2}',
    '{"0x1":1,2:3}',
    '{"0x1":1,"0x2"}',
    '{"0x1":1 "0x2":2}',
    '{"0x1":[1}',
    '{"0x1":{"a":1]}',
    '{"0x1":1',
    '{"0x1":"',
    '{"0x1":1}}',
  ])('rejects malformed JSON: %s', (map) => {
    for (const name of ['stateDiff', 'stateOverrides'])
      expect(() => parseBody(`{"method":"eth_simulateV1","params":[{"${name}":${map}}]}`)).toThrow(SyntaxError)
  })

  it('returns or throws what JSON.parse does, for any text', () => {
    const key = fc.oneof(
      fc.constantFrom(
        '0x1',
        '0x2',
        '0xab',
        'state',
        'stateDiff',
        'stateOverrides',
        'storage',
        '__proto__',
        '5',
        'a"b',
        '',
      ),
      fc.string({ maxLength: 3 }),
    )
    const { value } = fc.letrec((tie) => ({
      value: fc.oneof(
        { maxDepth: 6 },
        fc.constantFrom<unknown>(null, true, 1, -2.5, '0x1', 'x', '\\', 'eth_simulateV1', '"stateDiff":{"0x'),
        fc.array(tie('value'), { maxLength: 3 }),
        fc.array(fc.tuple(key, tie('value')), { maxLength: 4 }).map((entries) => Object.fromEntries(entries)),
        fc.tuple(tie('value'), tie('value')).map(([one, other]) => ({ stateDiff: { '0x1': one, '0x2': other } })),
      ),
    }))
    const spoilt = fc.record({
      at: fc.double({ min: 0, max: 1, noNaN: true }),
      by: fc.constantFrom('', ...'{}[],:" 1\\'),
    })
    fc.assert(
      fc.property(value, fc.option(spoilt), fc.boolean(), (params, fault, isSpaced) => {
        let text = JSON.stringify({ method: 'eth_simulateV1', params }, null, isSpaced ? 1 : 0)
        if (isSpaced) text = text.replace('"method": ', '"method":')
        if (fault !== null) {
          const at = Math.floor(fault.at * text.length)
          text = text.slice(0, at) + fault.by + text.slice(at + 1)
        }
        expect(outcome(parseBody, text)).toEqual(outcome(JSON.parse, text))
      }),
      { numRuns: 20_000 },
    )
  })
})
