import { ErrorCode, type Hash, type Hex, type Parts, RpcError } from '@upfront/protocol'
import { decodeRevertReason } from '../present/revert-reason.js'
import { type AbiField, type AbiParameter, AbiTypes, isDynamicType, shortText } from './abi-type.js'
import { type Decoded, type DecodingBudget, decodeParameters } from './abi-values.js'
import { errorWords } from './error-words.js'

/**
 * Decodes by ABIs. Undefined: they have none of this, or it is laid out otherwise.
 * @throws RpcError -32005 where the budget does not last
 */
export interface AbiDecoder {
  call(input: Hex): Parts<Decoded | undefined>
  /** `Error(string)` and `Panic(uint256)` need no ABI. */
  error(data: Hex): Parts<Decoded | undefined>
  log(topics: readonly Hash[], data: Hex): Parts<Decoded | undefined>
}

interface Item {
  name: string
  fields: AbiField[]
  /** Of an event, by position. */
  isIndexed: boolean[]
  /** Of what is known without an ABI: with the names of its parameters, and whose it is. */
  known?: { signature: string; from: string }
}

/** An ABI that was read: by selector, or by an event's topic, in the order in which they are tried. */
export type AbiItems = Record<'function' | 'error' | 'event', ReadonlyMap<string, readonly Item[]>>

/**
 * Reads an ABI. viem is loaded with the first one: loading it takes long.
 * @param abi JSON as compilers write it; entries that are no function, error or event are left aside. Of two with the same selector the
 *   last counts, save where they say whose they are (`from`): then each may be meant
 * @throws RpcError -32602 with the place of an entry that can't be read
 */
export async function readAbi(abi: readonly { type: string; from?: string }[]): Promise<AbiItems> {
  const { keccak256, stringToHex } = await import('viem')
  const types = new AbiTypes()
  const items = {
    function: new Map<string, Item[]>(),
    error: new Map<string, Item[]>(),
    event: new Map<string, Item[]>(),
  }
  for (const [index, { type, from, ...entry }] of abi.entries()) {
    if (type !== 'function' && type !== 'error' && type !== 'event') continue
    const { name, inputs, anonymous } = entry as { name?: unknown; inputs?: unknown; anonymous?: unknown }
    try {
      const { fields, signature } = types.fields(inputs)
      const item: Item = { name: shortText(name), fields, isIndexed: (inputs as AbiParameter[]).map(isIndexed) }
      if (typeof from === 'string') item.known = { signature: item.name + written(inputs as AbiParameter[]), from }
      const hash = keccak256(stringToHex(item.name + signature))
      const key = type === 'event' ? hash : hash.slice(0, 10)
      const others = (item.known && items[type].get(key)) ?? []
      if (anonymous !== true) items[type].set(key, [...others, item])
    } catch {
      throw new RpcError(ErrorCode.invalidParams, `abi[${index}]: expected an ABI entry as compilers write it`)
    }
  }
  return items
}

/** @param tables in the order in which they are tried @param budget for all that is decoded */
export function abiDecoder(tables: readonly AbiItems[], budget: DecodingBudget): AbiDecoder {
  const bySelector = (type: 'function' | 'error', data: Hex) =>
    firstThatFits(
      tables.map((items) => items[type].get(data.slice(0, 10))),
      ({ fields }) => decodeParameters(fields, `0x${data.slice(10)}`, budget),
    )
  return {
    call: (input) => bySelector('function', input),
    *error(data) {
      const standard = standardError(data)
      if (standard !== undefined) return standard
      const error = yield* bySelector('error', data)
      return error?.from === undefined ? error : { ...error, meaning: errorWords(error.name, error.args) }
    },
    log: ([topic = '', ...topics], data) =>
      firstThatFits(
        tables.map((items) => items.event.get(topic)),
        (item) => decodeLog(item, topics, data, budget),
      ),
  }
}

/** `(address to, (uint256 id, bytes data)[] items)` */
function written(parameters: readonly AbiParameter[]): string {
  const one = ({ type, name, components }: AbiParameter) => {
    const text = String(type)
    const shown = text.startsWith('tuple') ? written(components as AbiParameter[]) + text.slice('tuple'.length) : text
    return name === undefined || name === '' ? shown : `${shown} ${String(name)}`
  }
  return `(${parameters.map(one).join(', ')})`
}

function isIndexed({ indexed }: AbiParameter): boolean {
  return indexed === true
}

/** By the first table that has something that fits; of what is known without an ABI others may fit as well. */
function* firstThatFits(
  found: readonly (readonly Item[] | undefined)[],
  decode: (item: Item) => Parts<Record<string, unknown>>,
): Parts<Decoded | undefined> {
  for (const items of found) {
    let first: Decoded | undefined
    const or: string[] = []
    for (const item of items ?? []) {
      const decoded = yield* whereItFits(item, () => decode(item))
      if (decoded === undefined) continue
      if (first === undefined) first = { ...decoded, ...item.known }
      else if (item.known !== undefined) or.push(`${item.known.signature} of ${item.known.from}`)
    }
    if (first !== undefined) return or.length === 0 ? first : { ...first, or }
  }
  return undefined
}

/** Contracts write what they like: what does not fit is not decoded. */
function* whereItFits({ name }: Item, decode: () => Parts<Record<string, unknown>>): Parts<Decoded | undefined> {
  try {
    return { name, args: yield* decode() }
  } catch (error) {
    if (error instanceof RangeError) return undefined
    throw error
  }
}

/** @param topics without the one that names the event */
function* decodeLog(
  { fields, isIndexed: indexed }: Item,
  topics: readonly Hash[],
  data: Hex,
  budget: DecodingBudget,
): Parts<Record<string, unknown>> {
  const plain = fields.filter((_, at) => !indexed[at])
  const args: Record<string, unknown> = yield* decodeParameters(plain, data, budget)
  let next = 0
  const values: [string, unknown][] = []
  for (const [at, field] of fields.entries()) {
    if (!indexed[at]) {
      values.push([field.name, args[field.name]])
      continue
    }
    const topic = topics[next++]
    if (topic === undefined) throw new RangeError('a topic is missing')
    values.push([field.name, yield* decodeTopic(field, topic, budget)])
  }
  if (next < topics.length) throw new RangeError('a topic is over')
  return Object.fromEntries(values)
}

/** Of what takes more than a word the topic is a hash. */
function* decodeTopic(field: AbiField, topic: Hash, budget: DecodingBudget): Parts<unknown> {
  if (isDynamicType(field.type) || field.type.kind !== 'word') {
    budget.take(topic.length)
    return topic
  }
  return (yield* decodeParameters([field], topic, budget))[field.name]
}

function standardError(data: Hex): Decoded | undefined {
  const reason = decodeRevertReason(data)
  if (reason.kind === 'error') return { name: 'Error', args: { message: reason.reason } }
  if (reason.kind === 'panic') return { name: 'Panic', args: { code: `${reason.code}` }, meaning: reason.meaning }
  return undefined
}
