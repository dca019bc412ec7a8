import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import fc from 'fast-check'
import { files } from '../border/generate.mjs'
import { type Field, type FieldType, records } from '../border/records.mjs'
import { loadRevm } from '../src/addon.js'
import * as generated from '../src/border/records.js'
import { TextReader } from '../src/border/text.js'

/** A line as written by either side. Numbers may have a prefix and leading zeros. */
type Line = { typescript: string; rust: string; isNumber?: boolean }
/** A value in TypeScript, and its lines, derived from the table alone. */
type Sample = { value: unknown; lines: Line[] }

const HAS_RUSTFMT = spawnSync('rustfmt', ['--version']).status === 0
const { addon } = loadRevm()
const halves: Record<string, unknown> = { ...generated }
const structured = records.filter((type) => type.kind === 'record' || type.kind === 'union')

it('the generated TypeScript matches the table (else run `npm run border`)', () => {
  expect(readFileSync(files.typescript.path, 'utf8')).toBe(files.typescript.text())
})

// Without rustfmt there is nothing to compare with.
;(HAS_RUSTFMT ? it : it.skip)('the generated Rust matches the table (else run `npm run border`)', () => {
  expect(readFileSync(files.rust.path, 'utf8')).toBe(files.rust.text())
})

describe.each(structured.map((type) => [type.name, type] as const))('%s', (name, type) => {
  if (type.to !== 'typescript')
    it('is written in the order and format of the table', () => {
      const write = halves[`write${name}`] as (record: unknown) => string
      fc.assert(fc.property(sample(type), ({ value, lines }) => expect(write(value)).toBe(text(lines, 'typescript'))))
    })

  if (type.to !== 'rust')
    it('is read in the order and format of the table', () => {
      const read = halves[`read${name}`] as (reader: TextReader) => unknown
      fc.assert(
        fc.property(sample(type), ({ value, lines }) => {
          const reader = new TextReader(text(lines, 'rust'))
          expect(read(reader)).toEqual(value)
          expect(reader.rest()).toBe('')
        }),
      )
    })

  // A Rust tuple has no name to ask for. It is tested as part of another record.
  if ('rust' in type && type.rust === 'tuple') return // Without the addon there is no other side.
  ;(addon === undefined ? it.skip : it)('keeps its value when Rust reads it and writes it back', () => {
    const native = new addon!.NativeEngine({ cacheBytes: 0, memoryBytes: 0, threads: 1, queue: 1 }, () => {})
    const comparable = (line: string, { isNumber = false }: Line) => (isNumber ? BigInt(line) : line)
    fc.assert(
      fc.property(sample(type), ({ lines }) => {
        const echoed = native.echo(name, text(lines, 'typescript')).split('\n').slice(0, -1)
        expect(echoed.map((line, index) => comparable(line, lines[index]!))).toEqual(
          lines.map((line) => comparable(line.rust, line)),
        )
      }),
    )
    native.close()
  })
})

function text(lines: Line[], side: 'typescript' | 'rust'): string {
  return lines.map((line) => `${line[side]}\n`).join('')
}

function same(line: string): Line[] {
  return [{ typescript: line, rust: line }]
}

function numberLine(value: number | bigint): Line[] {
  return [{ typescript: value.toString(16), rust: `0x${value.toString(16)}`, isNumber: true }]
}

function sample(type: FieldType): fc.Arbitrary<Sample> {
  switch (type.kind) {
    case 'number':
      return fc.nat(255).map((value) => ({ value, lines: numberLine(value) }))
    case 'quantity':
      return fc.bigInt(0n, 2n ** BITS[type.rust]! - 1n).map((value) => ({ value, lines: numberLine(value) }))
    case 'flag':
      return fc.boolean().map((value) => ({ value, lines: same(value ? '1' : '0') }))
    case 'text':
      return fc.string({ minLength: 2 }).map((value) => ({ value, lines: same(value) }))
    case 'hex':
      return fc
        .uint8Array(type.bytes === undefined ? { maxLength: 70 } : { minLength: type.bytes, maxLength: type.bytes })
        .map((bytes) => `0x${Buffer.from(bytes).toString('hex')}`)
        .map((value) => ({ value, lines: same(value) }))
    case 'optional':
      return fc.oneof(fc.constant({ value: undefined, lines: same('-') }), sample(type.item))
    case 'nullable':
      return fc.oneof(fc.constant({ value: null, lines: same('-') }), sample(type.item))
    case 'list':
      return listOf(sample(type.item), 3)
    case 'pair':
      return fc.tuple(sample(type.first), sample(type.second)).map(joined)
    case 'map':
      // At most one: Rust's maps are unordered.
      return listOf(sample({ kind: 'pair', first: type.key, second: type.value }), 1).map(({ value, lines }) => ({
        value: new Map(value as [unknown, unknown][]),
        lines,
      }))
    case 'names':
      return fc.constantFrom(...Object.keys(type.variants)).map((value) => ({ value, lines: same(value) }))
    case 'union':
      return fc.oneof(
        ...type.variants.map(({ tag, fields }) =>
          structure(fields).map(({ value, lines }) => ({
            value: { kind: tag, ...(value as object) },
            lines: [...same(tag), ...lines],
          })),
        ),
      )
    default:
      return structure(type.fields)
  }
}

const BITS: Record<string, bigint> = { u8: 8n, u64: 64n, U256: 256n }

function joined(samples: Sample[]): Sample {
  return { value: samples.map(({ value }) => value), lines: samples.flatMap(({ lines }) => lines) }
}

function listOf(item: fc.Arbitrary<Sample>, maxLength: number): fc.Arbitrary<Sample> {
  return fc.array(item, { maxLength }).map((items) => {
    const { value, lines } = joined(items)
    return { value, lines: [...numberLine(items.length), ...lines] }
  })
}

function structure(fields: Field[]): fc.Arbitrary<Sample> {
  const values = fields.map(({ ts, plain, type }) => {
    const absent: Sample = { value: undefined, lines: numberLine(0) }
    return ts === plain ? sample(type) : fc.oneof(fc.constant(absent), sample(type))
  })
  return fc.tuple(...values).map((samples) => {
    const value: Record<string, unknown> = {}
    for (const [index, { plain }] of fields.entries()) put(value, plain, samples[index]!.value)
    return { value, lines: samples.flatMap(({ lines }) => lines) }
  })
}

function put(into: Record<string, unknown>, path: string, value: unknown): void {
  if (value === undefined) return
  const [head = '', ...rest] = path.split('.')
  if (path === '') Object.assign(into, value)
  else if (rest.length === 0) into[head] = value
  else {
    const inner = (into[head] ?? {}) as Record<string, unknown>
    into[head] = inner
    put(inner, rest.join('.'), value)
  }
}
