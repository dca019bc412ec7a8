import { ErrorCode, type Hash, type Hex, type Parts, RpcError } from '@upfront/protocol'
import { decodeRevertReason } from '../present/revert-reason.js'
import { type AbiField, type AbiParameter, AbiTypes, isDynamicType, shortText } from './abi-type.js'
import { type Decoded, type DecodingBudget, decodeParameters } from './abi-values.js'
import { errorMessage } from './error-message.js'

/**
 * Decodes by ABIs. Returns undefined if no entry matches the data.
 * @throws RpcError -32005 if the budget is exceeded
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
  /** For each parameter of an event. */
  isIndexed: boolean[]
  /** Set for built-in signatures: the signature with parameter names, and its source. */
  known?: { signature: string; from: string }
}

/** A parsed ABI: candidates by selector or event topic, in the order in which they are tried. */
export type AbiItems = Record<'function' | 'error' | 'event', ReadonlyMap<string, readonly Item[]>>

/**
 * Parses an ABI. viem is loaded on first use, because that is slow.
 * @param abi JSON as compilers write it; entries other than functions, errors and events are skipped. Of two with the same selector the
 * last one wins, unless they name their source (`from`): then both are kept
 * @throws RpcError -32602 with the place of an invalid entry
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
      if (typeof from === 'string')
        item.known = { signature: item.name + signatureText(inputs as AbiParameter[]), from }
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

/** @param tables in the order in which they are tried @param budget shared by everything that is decoded */
export function abiDecoder(tables: readonly AbiItems[], budget: DecodingBudget): AbiDecoder {
  const bySelector = (type: 'function' | 'error', data: Hex) =>
    firstMatch(
      tables.map((items) => items[type].get(data.slice(0, 10))),
      ({ fields }) => decodeParameters(fields, `0x${data.slice(10)}`, budget),
    )
  return {
    call: (input) => bySelector('function', input),
    *error(data) {
      const standard = standardError(data)
      if (standard !== undefined) return standard
      const error = yield* bySelector('error', data)
      return error?.from === undefined ? error : { ...error, meaning: errorMessage(error.name, error.args) }
    },
    log: ([topic = '', ...topics], data) =>
      firstMatch(
        tables.map((items) => items.event.get(topic)),
        (item) => decodeLog(item, topics, data, budget),
      ),
  }
}

/** Such as `(address to, (uint256 id, bytes data)[] items)`. */
function signatureText(parameters: readonly AbiParameter[]): string {
  const one = ({ type, name, components }: AbiParameter) => {
    const text = String(type)
    const shown = text.startsWith('tuple')
      ? signatureText(components as AbiParameter[]) + text.slice('tuple'.length)
      : text
    return name === undefined || name === '' ? shown : `${shown} ${String(name)}`
  }
  return `(${parameters.map(one).join(', ')})`
}

function isIndexed({ indexed }: AbiParameter): boolean {
  return indexed === true
}

/** The first match. If it is a built-in signature, lists other matches too. */
function* firstMatch(
  found: readonly (readonly Item[] | undefined)[],
  decode: (item: Item) => Parts<Record<string, unknown>>,
): Parts<Decoded | undefined> {
  for (const items of found) {
    let first: Decoded | undefined
    const or: string[] = []
    for (const item of items ?? []) {
      const decoded = yield* tryDecode(item, () => decode(item))
      if (decoded === undefined) continue
      if (first === undefined) first = { ...decoded, ...item.known }
      else if (item.known !== undefined) or.push(`${item.known.signature} of ${item.known.from}`)
    }
    if (first !== undefined) return or.length === 0 ? first : { ...first, or }
  }
  return undefined
}

/** Contract data is arbitrary: undefined if it does not match. */
function* tryDecode({ name }: Item, decode: () => Parts<Record<string, unknown>>): Parts<Decoded | undefined> {
  try {
    return { name, args: yield* decode() }
  } catch (error) {
    if (error instanceof RangeError) return undefined
    throw error
  }
}

/** @param topics without topic 0 */
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
  if (next < topics.length) throw new RangeError('there are more topics than indexed parameters')
  return Object.fromEntries(values)
}

/** A topic of a dynamic or composite type is only its hash. */
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
