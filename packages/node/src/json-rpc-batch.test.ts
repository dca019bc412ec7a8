import fc from 'fast-check'
import { encodeCalls, matchAnswers } from './json-rpc-batch.js'
import { Secrets } from './secrets.js'
import { UpstreamFault } from './upstream-fault.js'

const none = new Secrets(new URL('http://127.0.0.1:8545'))
const call = { method: 'eth_chainId', params: [] }

function faults(text: string, count: number): (string | undefined)[] {
  return matchAnswers(text, 10, count, none).map((answer) => ('fault' in answer ? answer.fault.kind : undefined))
}

function thrown(text: string, count: number): string | undefined {
  try {
    matchAnswers(text, 10, count, none)
  } catch (error) {
    if (error instanceof UpstreamFault) return error.kind
    throw error
  }
  return undefined
}

describe('JSON-RPC over one HTTP request', () => {
  it.each([
    ['nests deeply', '['.repeat(300_000) + ']'.repeat(300_000)],
    ['nests deeply in objects', `${'{"a":'.repeat(300_000)}1${'}'.repeat(300_000)}`],
    ['has many empty lists', `[${'[],'.repeat(1_000_000)}[]]`],
    ['has many numbers', `[${'1,'.repeat(1_000_000)}1]`],
  ])('refuses an answer that %s before parsing it', (_what, result) => {
    expect(thrown(`{"jsonrpc":"2.0","id":10,"result":${result}}`, 1)).toBe('malformed')
  })

  it('leaves out the data of an error that nests too deeply to be written', () => {
    const data = '['.repeat(50_000) + ']'.repeat(50_000)
    const text = `{"jsonrpc":"2.0","id":10,"error":{"code":3,"message":"execution reverted","data":${data}}}`
    const [answer] = matchAnswers(text, 10, 1, none)
    const { rpc } = (answer as { fault: UpstreamFault }).fault.detail
    expect(JSON.stringify(rpc)).toBe('{"code":3,"message":"execution reverted"}')
  })

  it('accepts a long answer of ordinary values', () => {
    const log = { address: `0x${'11'.repeat(20)}`, topics: [], data: '0x', logIndex: '0x1', removed: false }
    const result = JSON.stringify(Array(100_000).fill(log))
    expect(faults(`{"jsonrpc":"2.0","id":10,"result":${result}}`, 1)).toEqual([undefined])
  })

  it('encodes one call as an object and several as a batch', () => {
    expect(JSON.parse(encodeCalls([call], 7))).toEqual({ jsonrpc: '2.0', id: 7, ...call })
    expect(JSON.parse(encodeCalls([call, call], 7))).toMatchObject([{ id: 7 }, { id: 8 }])
  })

  it('accepts params as a list or as its JSON', () => {
    const list = ['0x"\n', { blockHash: '0x01' }]
    expect(encodeCalls([{ method: 'm', params: list }], 7)).toBe(
      encodeCalls([{ method: 'm', params: JSON.stringify(list) }], 7),
    )
    expect(JSON.parse(encodeCalls([{ method: 'm"', params: list }], 7))).toMatchObject({ method: 'm"', params: list })
  })

  it('returns answers in the order of the calls', () => {
    const text = '[{"id":12,"result":"c"},{"id":10,"result":"a"},{"id":11,"result":null}]'
    expect(matchAnswers(text, 10, 3, none)).toEqual([{ result: 'a' }, { result: null }, { result: 'c' }])
  })

  it('treats null next to a result or an error as absent', () => {
    expect(matchAnswers('{"id":10,"result":"a","error":null}', 10, 1, none)).toEqual([{ result: 'a' }])
    expect(faults('{"id":10,"result":null,"error":{"code":-32000,"message":"no"}}', 1)).toEqual(['rpc-error'])
  })

  it('keeps the answers of a truncated batch, and reports the others as missing', () => {
    expect(faults('[{"id":10,"result":"a"}]', 3)).toEqual([undefined, 'missing-answer', 'missing-answer'])
  })

  it('reports each kind of malformed answer', () => {
    expect(thrown('{"id":11,"result":"a"}', 1)).toBe('malformed')
    expect(faults('{"id":10}', 1)).toEqual(['malformed'])
    expect(faults('{"id":10,"result":"a","error":{"code":1,"message":"b"}}', 1)).toEqual(['malformed'])
    expect(thrown('', 1)).toBe('not-json')
    expect(thrown('<html>', 1)).toBe('not-json')
    expect(thrown('"text"', 1)).toBe('malformed')
    expect(thrown('{"id":10,"result":"a"}', 2)).toBe('malformed')
    expect(thrown('[]', 2)).toBe('batch-refused')
    expect(thrown('{"id":null,"error":{"code":-32600,"message":"no batches"}}', 2)).toBe('batch-refused')
    expect(thrown('[{"id":10,"error":{"code":-32600,"message":"batch too large"}}]', 2)).toBe('batch-refused')
  })

  it.each([
    ['an id that was not asked for', '[{"id":10,"result":"a"},{"id":11,"result":"b"},{"id":12,"result":"c"}]'],
    ['an id twice', '[{"id":10,"result":"a"},{"id":11,"result":"b"},{"id":10,"result":"a"}]'],
    ['an id as text', '[{"id":10,"result":"a"},{"id":"11","result":"b"}]'],
    ['no id', '[{"id":10,"result":"a"},{"result":"b"}]'],
    ['null', '[{"id":10,"result":"a"},null]'],
  ])('rejects a batch with %s', (_name, text) => {
    expect(thrown(text, 2)).toBe('malformed')
  })

  it('withholds an error of a node that contains a part of its URL', () => {
    const secrets = new Secrets(new URL('https://rpc.example/v2/k3y'))
    const error = (words: object) => JSON.stringify({ id: 10, error: { code: -32000, ...words } })
    const read = (text: string) => JSON.stringify(matchAnswers(text, 10, 1, secrets))
    expect(read(error({ message: 'no funds', data: 'none' }))).toContain('no funds')
    expect(read(error({ message: 'no funds', data: { seen: ['key k3y'] } }))).not.toMatch(/k3y|funds/)
    expect(read(error({ message: 'no access to /v2/K3Y' }))).not.toMatch(/k3y/i)
  })

  it('returns an answer for every call or throws a fault, for any text', () => {
    const entry = fc.record(
      { id: fc.oneof(fc.integer({ min: 8, max: 14 }), fc.anything()), result: fc.anything(), error: fc.anything() },
      { requiredKeys: [] },
    )
    const text = fc.oneof(
      fc.string(),
      fc.json(),
      fc.array(entry).map((all) => JSON.stringify(all) ?? ''),
    )
    fc.assert(
      fc.property(text, fc.integer({ min: 1, max: 5 }), (body, count) => {
        const kind = thrown(body, count)
        if (kind === undefined) expect(matchAnswers(body, 10, count, none)).toHaveLength(count)
      }),
    )
  })
})
