// Writes both sides of the border from records.mjs: `npm run border`.
import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { records } from './records.mjs'

const place = (path) => fileURLToPath(new URL(`../${path}`, import.meta.url))
/** Characters. */
const LINE = 120
const NOTE = '// Written by `npm run border` from border/records.mjs: change that.'

/** The generated files, each with its text as the formatters have it. */
export const files = {
  typescript: { path: place('src/border/records.ts'), text: () => format('biome', typescript()) },
  rust: { path: place('crates/border/src/records.rs'), text: () => format('rustfmt', rust()) },
}

const FORMATTERS = {
  biome: [place('../../node_modules/.bin/biome'), 'check', '--write', '--stdin-file-path=src/border/records.ts'],
  rustfmt: ['rustfmt', '--edition=2024', '--config-path', place('rustfmt.toml')],
}

function format(formatter, input) {
  const [command, ...options] = FORMATTERS[formatter]
  const { status, stdout, stderr, error } = spawnSync(command, options, { input, encoding: 'utf8', cwd: place('.') })
  if (status !== 0) throw error ?? new Error(`${formatter}: ${stderr}`)
  return stdout
}

const structured = records.filter(({ kind }) => kind !== 'names')

function typescript() {
  const reading = structured.filter(({ to }) => to !== 'rust')
  const writing = structured.filter(({ to }) => to !== 'typescript')
  const given = structured.flatMap(({ ts }) => ts ?? [])
  const imports = [...new Set(given.map(({ module }) => module))].map((module) => {
    const types = new Set(given.filter((ts) => ts.module === module).map(({ type }) => type))
    return `import type { ${[...types].join(', ')} } from '${module}'`
  })
  const out = [
    NOTE,
    '// biome-ignore-all lint/style/useTemplate: a line a field reads better.',
    "import type { Address, Hash, Hex } from '@upfront/protocol'",
    ...imports,
    "import { count, flag, list, optionalQuantity, quantity, remembering, type TextReader } from './text.js'",
    ...structured.filter(({ ts }) => ts === undefined).map(declareInterface),
    ...writing.map(writeInTypescript),
    ...reading.map(readInTypescript),
  ]
  return `${out.join('\n\n')}\n`
}

const tsName = ({ name, ts }) => ts?.type ?? name

function tsType(type) {
  switch (type.kind) {
    case 'number':
      return 'number'
    case 'quantity':
      return 'bigint'
    case 'flag':
      return 'boolean'
    case 'text':
      return 'string'
    case 'hex':
      return { 20: 'Address', 32: 'Hash' }[type.bytes] ?? 'Hex'
    case 'nullable':
      return `${tsType(type.item)} | null`
    case 'list':
      return `${tsType(type.item)}[]`
    case 'map':
      return `Map<${tsType(type.key)}, ${tsType(type.value)}>`
    default:
      return tsName(type)
  }
}

function declareInterface({ name, fields }) {
  const lines = fields.map(({ ts, type }) =>
    type.kind === 'optional' ? `${ts}?: ${tsType(type.item)}` : `${ts}: ${tsType(type)}`,
  )
  return `export interface ${name} {\n${lines.join('\n')}\n}`
}

function writeInTypescript(record) {
  if (record.kind === 'union') return writeUnion(record)
  const parts = record.fields.map(({ ts, type }) => writeValue(type, ts === '' ? 'record' : `record.${ts}`))
  const text = parts.join(' + ')
  if (record.isShared) return `export const write${record.name} = remembering((record: ${tsName(record)}) => ${text})`
  return `export function write${record.name}(record: ${tsName(record)}): string { return ${text} }`
}

function writeUnion({ variants, ...union }) {
  const cases = variants.map(({ tag, fields }) => {
    const parts = fields.map(({ ts, type }) => writeValue(type, `record.${ts}`))
    return `case '${tag}': return ${[`'${tag}\\n'`, ...parts].join(' + ')}`
  })
  return `export function write${union.name}(record: ${tsName(union)}): string { switch (record.kind) { ${cases.join('\n')} } }`
}

function writeValue(type, value) {
  switch (type.kind) {
    case 'number':
      return `count(${value})`
    case 'quantity':
      return `quantity(${value})`
    case 'flag':
      return `flag(${value})`
    case 'optional':
    case 'nullable':
      if (type.item.kind === 'quantity') return `optionalQuantity(${value})`
      if (['hex', 'text', 'names'].includes(type.item.kind)) return `\`\${${value} ?? '-'}\\n\``
      return `(${value} === undefined ? '-\\n' : ${writeValue(type.item, value)})`
    case 'list':
      return `list(${value}, ${type.item.name ? `write${type.item.name}` : `(item) => ${writeValue(type.item, 'item')}`})`
    case 'pair':
      return `${writeValue(type.first, `${value}[0]`)} + ${writeValue(type.second, `${value}[1]`)}`
    case 'map':
      return writeValue({ kind: 'list', item: { kind: 'pair', first: type.key, second: type.value } }, `[...${value}]`)
    case 'record':
      return `write${type.name}(${value})`
    default:
      return `\`\${${value}}\\n\``
  }
}

function readInTypescript(type) {
  const head = `export function read${type.name}(reader: TextReader): ${tsName(type)} {`
  if (type.kind === 'record') return `${head} ${readFields(type.fields, tsName(type))} }`
  const cases = type.variants.map(({ tag, fields }) => {
    return `case '${tag}': { ${readFields(fields, `Extract<${tsName(type)}, { kind: '${tag}' }>`, [`kind: '${tag}'`])} }`
  })
  const unknown = `default: throw new Error('the addon sent an unknown ${type.name}')`
  return `${head} switch (reader.word()) { ${[...cases, unknown].join('\n')} } }`
}

/** What is absent is no property. Spreading what is there takes V8 several times as long as setting it. */
function readFields(fields, type, before = []) {
  const optional = fields.findIndex((field) => field.type.kind === 'optional')
  const [first, rest] = optional === -1 ? [fields, []] : [fields.slice(0, optional), fields.slice(optional)]
  const literal = `{ ${[...before, ...first.map(({ ts, type }) => `${ts}: ${readValue(type)}`)].join(', ')} }`
  if (rest.length === 0) return `return ${literal}`
  const set = rest.map(({ ts, type }) =>
    type.kind === 'optional'
      ? `if (reader.isGiven()) record.${ts} = ${readValue(type.item)}`
      : `record.${ts} = ${readValue(type)}`,
  )
  return [`const record = ${literal} as ${type}`, ...set, 'return record'].join('\n')
}

function readValue(type) {
  switch (type.kind) {
    case 'number':
      return 'reader.number()'
    case 'quantity':
      return 'reader.bigint()'
    case 'flag':
      return 'reader.flag()'
    case 'text':
      return 'reader.word()'
    case 'names':
      return `reader.name<${Object.keys(type.variants)
        .map((name) => `'${name}'`)
        .join(' | ')}>()`
    case 'hex':
      return 'reader.hex()'
    case 'optional':
      return `reader.optional(() => ${readValue(type.item)})`
    case 'nullable':
      return `reader.optional(() => ${readValue(type.item)}) ?? null`
    case 'list':
      return `reader.list(() => ${readValue(type.item)})`
    case 'pair':
      return `[${readValue(type.first)}, ${readValue(type.second)}] as const`
    case 'map':
      return `new Map(reader.list(() => [${readValue(type.key)}, ${readValue(type.value)}]))`
    default:
      return `read${type.name}(reader)`
  }
}

function rust() {
  const own = structured.filter((record) => record.rust === undefined)
  const echoes = structured.filter((record) => record.rust !== 'tuple')
  const out = [
    NOTE.replace('//', '//!'),
    'use crate::{declare::{fields, names, variants}, text::{Decoded, Field, Lines, Malformed, Tokens}};',
    'use upfront_engine::{carry, outcome, plan, primitives::{Address, B256, Bloom, Bytes, map::AddressMap}, rejection, state, execution};',
    ...own.map(({ name, fields }) => {
      const lines = fields.map(({ rust, type }) => `pub ${rust}: ${rustType(type)},`)
      return `pub struct ${name} {\n${lines.join('\n')}\n}`
    }),
    records
      .filter((record) => record.rust !== 'tuple')
      .map(declareInRust)
      .join('\n'),
    `/// Reads a record and writes it again, for the test that both sides agree.
    pub fn echo(name: &str, t: &mut Tokens<'_>) -> Decoded<String> {
      let mut out = Lines::default();
      match name {
        ${echoes.map(({ name, ...record }) => `"${name}" => ${rustName({ name, ...record })}::read(t)?.write(&mut out),`).join('\n')}
        _ => return Err(Malformed("an unknown record")),
      }
      Ok(out.0)
    }`,
  ]
  return `${out.join('\n\n')}\n`
}

const rustName = ({ name, rust }) => rust ?? name

function rustType(type) {
  switch (type.kind) {
    case 'optional':
    case 'nullable':
      return `Option<${rustType(type.item)}>`
    case 'list':
      return `Vec<${rustType(type.item)}>`
    case 'map':
      return `AddressMap<${rustType(type.value)}>`
    default:
      return rustName(type)
  }
}

/** For the macros of crates/border/src/declare.rs. rustfmt leaves it as it is. */
function declareInRust(type) {
  const { macro, parts } = { names: namesInRust, record: fieldsInRust, union: variantsInRust }[type.kind](type)
  const line = `${macro}! { ${rustName(type)} { ${parts.join(' ')} } }`
  if (line.length <= LINE) return line
  return `${macro}! {\n    ${rustName(type)} {\n${filled(parts, ' '.repeat(8))}\n    }\n}`
}

function filled(parts, indent) {
  const lines = ['']
  for (const part of parts) {
    if (lines.at(-1).length + part.length + indent.length >= LINE) lines.push('')
    lines[lines.length - 1] += `${lines.at(-1) === '' ? '' : ' '}${part}`
  }
  return lines.map((line) => indent + line).join('\n')
}

/** All but the last with a comma. */
function separated(parts) {
  return parts.map((part, index) => (index < parts.length - 1 ? `${part},` : part))
}

function namesInRust({ variants, isPart }) {
  const pairs = Object.entries(variants).map(([name, variant]) => `"${name}" => ${variant}`)
  return { macro: 'names', parts: separated([...pairs, ...(isPart ? ['.._'] : [])]) }
}

function fieldsInRust({ fields, unset }) {
  const parts = separated(fields.map(({ rust }) => rust))
  if (unset === undefined) return { macro: 'fields', parts }
  const rest = Object.entries(unset).map(([name, value]) => `${name}: ${value}`)
  return { macro: 'fields', parts: [...parts.slice(0, -1), `${parts.at(-1)};`, ...separated(rest)] }
}

function variantsInRust({ variants, isTuple }) {
  const shape = (fields) => {
    const inner = fields.map(({ rust }) => rust).join(', ')
    if (fields.length === 0) return ''
    return isTuple ? `(${inner})` : ` { ${inner} }`
  }
  const parts = variants.map(({ tag, rust, fields }) => `"${tag}" => ${rust}${shape(fields)}`)
  return { macro: 'variants', parts: separated(parts) }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  for (const { path, text } of Object.values(files)) writeFileSync(path, text())
}
