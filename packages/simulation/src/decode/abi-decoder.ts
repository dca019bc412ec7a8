import { ErrorCode, type Hash, type Hex, type Parts, RpcError } from '@upfront/protocol'
import { decodeRevertReason } from '../present/revert-reason.js'
import { type AbiField, type AbiParameter, AbiTypes, isDynamicType, shortText } from './abi-type.js'
import { type DecodingBudget, decodeParameters } from './abi-values.js'

/** A function, error or event by its name, with its arguments as JSON: integers as decimal strings, bytes as hex. */
export interface Decoded {
  name: string
  /** By name; by position where an argument has none. */
  args: Record<string, unknown>
  /** Of a panic. */
  meaning?: string
}

/**
 * Decodes by an ABI that the request brings; nothing is looked up. Undefined: the ABI has none of this, or it is laid out otherwise.
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
}

/**
 * viem is loaded with the first ABI: loading it takes long.
 * @param abi JSON as compilers write it; entries that are no function, error or event are left aside
 * @param budget for all that is decoded
 * @throws RpcError -32602 with the place of an entry that can't be read
 */
export async function abiDecoder(abi: readonly { type: string }[], budget: DecodingBudget): Promise<AbiDecoder> {
  const { keccak256, stringToHex } = await import('viem')
  const types = new AbiTypes()
  const items = { function: new Map<string, Item>(), error: new Map<string, Item>(), event: new Map<string, Item>() }
  for (const [index, { type, ...entry }] of abi.entries()) {
    if (type !== 'function' && type !== 'error' && type !== 'event') continue
    const { name, inputs, anonymous } = entry as { name?: unknown; inputs?: unknown; anonymous?: unknown }
    try {
      const { fields, signature } = types.fields(inputs)
      const item = { name: shortText(name), fields, isIndexed: (inputs as AbiParameter[]).map(isIndexed) }
      const hash = keccak256(stringToHex(item.name + signature))
      if (anonymous !== true) items[type].set(type === 'event' ? hash : hash.slice(0, 10), item)
    } catch {
      throw new RpcError(ErrorCode.invalidParams, `abi[${index}]: expected an ABI entry as compilers write it`)
    }
  }
  return {
    call: (input) => bySelector(items.function, input, budget),
    *error(data) {
      return standardError(data) ?? (yield* bySelector(items.error, data, budget))
    },
    *log([topic = '', ...topics], data) {
      const item = items.event.get(topic)
      return item && (yield* whereItFits(item, () => decodeLog(item, topics, data, budget)))
    },
  }
}

function isIndexed({ indexed }: AbiParameter): boolean {
  return indexed === true
}

function* bySelector(items: ReadonlyMap<string, Item>, data: Hex, budget: DecodingBudget): Parts<Decoded | undefined> {
  const item = items.get(data.slice(0, 10))
  return item && (yield* whereItFits(item, () => decodeParameters(item.fields, `0x${data.slice(10)}`, budget)))
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
