import fc from 'fast-check'
import type { Parts } from '../parts.js'
import { plainJson } from './byte-keyed.js'
import { parseInParts } from './parse-in-parts.js'

/** What the work comes to, and how many parts it had. */
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

const account = (index: number) => `0x${index.toString(16).padStart(40, '0')}`
const simulation = (overrides: unknown) => ({
  jsonrpc: '2.0',
  id: 'a "quoted" \\ id',
  method: 'eth_simulateV1',
  params: [{ blockStateCalls: [{ stateOverrides: overrides }] }, 'latest'],
})

describe('parseInParts', () => {
  it('parses at most so many characters at a time', () => {
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
        const { value, parts } = finish(parseInParts(text, 10_000))
        expect(Math.max(...lengths)).toBeLessThan(11_000)
        expect(parts).toBeGreaterThanOrEqual(text.length / 11_000)
        expect(plainJson(value)).toEqual(parse(text))
      } finally {
        JSON.parse = parse
      }
    }
  })

  it('cuts a long string, whatever escapes it has', () => {
    const { parse } = JSON
    for (const unit of ['0123456789abcdef', '\\', '"', '\u0001', 'u\\"u\u0001']) {
      const text = JSON.stringify(simulation({ '0x1': { code: unit.repeat(40_000 / unit.length) } }))
      const lengths: number[] = []
      JSON.parse = (part, ...rest) => {
        lengths.push(part.length)
        return parse(part, ...rest)
      }
      try {
        const { value } = finish(parseInParts(text, 1_000))
        expect(Math.max(...lengths)).toBeLessThan(1_010)
        expect(plainJson(value)).toEqual(parse(text))
      } finally {
        JSON.parse = parse
      }
    }
  })

  it('makes of any JSON what JSON.parse makes of it, wherever it is cut', () => {
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
        expect(plainJson(finish(parseInParts(text, length)).value)).toEqual(JSON.parse(text))
      }),
      { numRuns: 500 },
    )
  })

  it('takes for wrong what is wrong', () => {
    const text = JSON.stringify([simulation({ '0x1': { balance: '0x1' } }), [1, 2, { a: [], b: {} }], 'x', null])
    fc.assert(
      fc.property(
        fc.nat(text.length),
        fc.nat(3),
        fc.constantFrom('', ',', ':', '"', '[', ']', '{', '}', 'x', ' ', '1'),
        fc.integer({ min: 1, max: 30 }),
        (at, left, inserted, length) => {
          const broken = text.slice(0, at) + inserted + text.slice(at + left)
          expect(outcome(() => finish(parseInParts(broken, length)).value)).toEqual(outcome(() => JSON.parse(broken)))
        },
      ),
      { numRuns: 3_000, examples: [[text.indexOf('{"0x1"'), 0, '1', 1]] },
    )
  })
})
