import fc from 'fast-check'
import type { Parts } from '../parts.js'
import { plainJson } from './byte-keyed.js'
import { parseInParts } from './parse-in-parts.js'

/** The result, and the number of parts. */
function finish<T>(work: Parts<T>): { value: T; parts: number } {
  for (let parts = 1; ; parts += 1) {
    const { done, value } = work.next()
    if (done) return { value, parts }
  }
}

function outcome(parse: () => unknown): unknown {
  try {
    return plainJson(parse())
  } catch (error) {
    return (error as Error).name
  }
}

const BOUNDS = { depth: 64, values: 2_000_000 }

function inParts(text: string | Buffer, partLength?: number): Parts<unknown> {
  return parseInParts(Buffer.from(text as string), BOUNDS, { lists: true, ...(partLength && { partLength }) })
}

const account = (index: number) => `0x${index.toString(16).padStart(40, '0')}`
const simulation = (overrides: unknown) => ({
  jsonrpc: '2.0',
  id: 'a "quoted" \\ id',
  method: 'eth_simulateV1',
  params: [{ blockStateCalls: [{ stateOverrides: overrides }] }, 'latest'],
})

describe('parseInParts', () => {
  it('parses at most about the given number of characters in each part', () => {
    const overrides = Object.fromEntries(Array.from({ length: 5_000 }, (_, at) => [account(at), { balance: '0x1' }]))
    for (const indent of [undefined, 1]) {
      const text = JSON.stringify(simulation(overrides), undefined, indent)
      const { parse } = JSON
      const lengths: number[] = []
      JSON.parse = (part, ...rest) => {
        lengths.push(part.length)
        return parse(part, ...rest)
      }
      try {
        const { value, parts } = finish(inParts(text, 10_000))
        expect(Math.max(...lengths)).toBeLessThan(11_000)
        expect(parts).toBeGreaterThanOrEqual(text.length / 11_000)
        expect(plainJson(value)).toEqual(parse(text))
      } finally {
        JSON.parse = parse
      }
    }
  })

  it('parses a long string in parts, whatever its escapes', () => {
    const { parse } = JSON
    for (const unit of ['0123456789abcdef', '\\', '"', '\u0001', 'u\\"u\u0001']) {
      const text = JSON.stringify(simulation({ '0x1': { code: unit.repeat(40_000 / unit.length) } }))
      const lengths: number[] = []
      JSON.parse = (part, ...rest) => {
        lengths.push(part.length)
        return parse(part, ...rest)
      }
      try {
        const { value } = finish(inParts(text, 1_000))
        expect(Math.max(...lengths)).toBeLessThan(1_010)
        expect(plainJson(value)).toEqual(parse(text))
      } finally {
        JSON.parse = parse
      }
    }
  })

  it('returns what JSON.parse returns for any JSON, wherever it is split', () => {
    const key = fc.oneof(
      fc.string(),
      fc.constantFrom('__proto__', '0x1', '0x2', 'stateOverrides', 'stateDiff', '"', '\\'),
    )
    const { json } = fc.letrec<{ json: unknown }>((tie) => ({
      json: fc.oneof(
        { maxDepth: 5 },
        fc.jsonValue({ maxDepth: 1 }),
        fc.string({ unit: fc.constantFrom('\\', '"', '\u0001', '\ud83d\ude00', '\ud800', 'u', '0', 'é') }),
        fc.array(tie('json'), { maxLength: 5 }),
        fc.dictionary(key, tie('json'), { maxKeys: 5 }),
        fc.dictionary(fc.constantFrom('0x1', '0x2'), tie('json')).map((map) => simulation(map)),
      ),
    }))
    fc.assert(
      fc.property(json, fc.constantFrom(undefined, 2), fc.integer({ min: 1, max: 40 }), (value, indent, length) => {
        const text = JSON.stringify(value, undefined, indent)
        expect(plainJson(finish(inParts(text, length)).value)).toEqual(JSON.parse(text))
      }),
      { numRuns: 500 },
    )
  })

  it('rejects malformed JSON as JSON.parse does, wherever it is split', () => {
    const text = JSON.stringify([simulation({ '0x1': { balance: '0x1' } }), [1, 2, { a: [], b: {} }], 'x', null])
    fc.assert(
      fc.property(
        fc.nat(text.length),
        fc.nat(3),
        fc.constantFrom('', ',', ':', '"', '[', ']', '{', '}', 'x', ' ', '1'),
        fc.integer({ min: 1, max: 30 }),
        (at, left, inserted, length) => {
          const broken = text.slice(0, at) + inserted + text.slice(at + left)
          expect(outcome(() => finish(inParts(broken, length)).value)).toEqual(outcome(() => JSON.parse(broken)))
        },
      ),
      { numRuns: 3_000, examples: [[text.indexOf('{"0x1"'), 0, '1', 1]] },
    )
  })

  it.each([
    ['a character', Buffer.from(`["${'aé€😀'.repeat(20)}"]`)],
    ['what is no UTF-8', Buffer.from([0x5b, 0x22, 0xc3, 0x28, 0x61, 0xe2, 0x82, 0x22, 0x5d])],
  ])('decodes UTF-8 as Buffer.toString does, wherever it splits %s', (_, bytes) => {
    for (let length = 1; length < 12; length += 1)
      expect(finish(inParts(bytes, length)).value).toEqual(JSON.parse(bytes.toString()))
  })

  it('rejects a byte order mark, as JSON.parse does', () => {
    for (const length of [1, 100]) expect(() => finish(inParts('\ufeff[1,2,3]', length))).toThrow(SyntaxError)
  })

  it('makes lists of override maps in simulations only', () => {
    const map = { '0x1': { balance: '0x1' }, '0x2': { balance: '0x2' } }
    const entry = { ...simulation(map), id: 'eth_simulateV1' }
    const isList = (body: unknown) =>
      Array.isArray(
        (body as { params: { blockStateCalls: { stateOverrides: unknown }[] }[] }).params[0]!.blockStateCalls[0]!
          .stateOverrides,
      )
    const parsed = (body: unknown) => finish(inParts(JSON.stringify(body), 10)).value
    expect(isList(parsed(entry))).toBe(true)
    expect(parsed([entry, { ...entry, method: 'eth_call' }])).toEqual([entry, { ...entry, method: 'eth_call' }])
    const [one, other] = parsed([simulation(map), { ...simulation(map), method: 'eth_call' }]) as [unknown, unknown]
    expect([isList(one), isList(other)]).toEqual([true, false])
  })

  it.each([
    ['values', '[1,2,3,4,5]'],
    ['levels', '[[[[]]]]'],
    ['values of which the last opens', '[1,2,3,[]]'],
  ])('rejects more %s than the limit, wherever it is split', (_, text) => {
    for (const length of [1, 100]) {
      const parse = () =>
        finish(parseInParts(Buffer.from(text), { depth: 3, values: 4 }, { lists: true, partLength: length }))
      expect(parse).toThrow('the body')
    }
  })

  it.each([
    ['a name', `{"${'x'.repeat(200_000)}":1}`],
    ['a number', `[${'1'.repeat(200_000)}]`],
    ['blanks', `[${' '.repeat(200_000)}]`],
    ['a string alone', `"${'x'.repeat(200_000)}"`],
  ])('rejects %s that would block the event loop', (_, text) => {
    expect(() => finish(inParts(text))).toThrow('a name, a number or blanks of more than')
  })

  it('yields at least every 131,072 bytes, also within a string of escapes', () => {
    const { parts, value } = finish(inParts(`["${'\\"'.repeat(1_000_000)}"]`))
    expect(value).toEqual(['"'.repeat(1_000_000)])
    expect(parts).toBeGreaterThan(30)
  })
})
