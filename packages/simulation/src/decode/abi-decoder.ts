import { ErrorCode, type Hash, type Hex, RpcError } from '@upfront/protocol'
import { decodeRevertReason } from '../present/revert-reason.js'

/** A function, error or event by its name, with its arguments as JSON: integers as decimal strings, bytes as hex. */
export interface Decoded {
  name: string
  /** By name; by position where an argument has none. */
  args: Record<string, unknown>
  /** Of a panic. */
  meaning?: string
}

/** Decodes by an ABI that the request brings; nothing is looked up. Undefined: the ABI has none of this, or it is laid out otherwise. */
export interface AbiDecoder {
  call(input: Hex): Decoded | undefined
  /** `Error(string)` and `Panic(uint256)` need no ABI. */
  error(data: Hex): Decoded | undefined
  log(topics: readonly Hash[], data: Hex): Decoded | undefined
}

const DECODED = ['function', 'error', 'event']

interface Parameter {
  type: string
  name?: string
  indexed?: boolean
  components?: readonly Parameter[]
}

interface Item {
  name: string
  inputs: readonly Parameter[]
  anonymous?: boolean
}

/**
 * viem is loaded with the first ABI: loading it takes long.
 * @param abi JSON as compilers write it; entries that are no function, error or event are left aside
 * @throws RpcError -32602 with the place of an entry that can't be read
 */
export async function abiDecoder(abi: readonly { type: string }[]): Promise<AbiDecoder> {
  const { decodeAbiParameters, decodeEventLog, toEventSelector, toFunctionSelector } = await import('viem')
  const functions = new Map<Hex, Item>()
  const errors = new Map<Hex, Item>()
  const events = new Map<Hex, Item>()
  for (const [index, entry] of abi.entries()) {
    try {
      const item = entry as unknown as Item
      if (DECODED.includes(entry.type)) checkParameters(item.inputs)
      if (entry.type === 'function') functions.set(toFunctionSelector(entry as never), item)
      else if (entry.type === 'error') errors.set(toFunctionSelector({ ...entry, type: 'function' } as never), item)
      else if (entry.type === 'event' && item.anonymous !== true) events.set(toEventSelector(entry as never), item)
    } catch {
      throw new RpcError(ErrorCode.invalidParams, `abi[${index}]: expected an ABI entry as compilers write it`)
    }
  }
  const bySelector = (items: ReadonlyMap<Hex, Item>, data: Hex): Decoded | undefined => {
    const item = items.get(data.slice(0, 10) as Hex)
    return item && attempt(() => named(item, decodeAbiParameters(item.inputs as never, `0x${data.slice(10)}`)))
  }
  return {
    call: (input) => bySelector(functions, input),
    error: (data) => standardError(data) ?? bySelector(errors, data),
    log: ([topic, ...topics], data) => {
      const item = topic && events.get(topic)
      if (item === undefined) return undefined
      return attempt(() => {
        const event = { ...item, type: 'event', inputs: item.inputs.map((input, at) => ({ ...input, name: `${at}` })) }
        const { args } = decodeEventLog({ abi: [event as never], data, topics: [topic, ...topics] as [Hex, ...Hex[]] })
        return named(
          item,
          item.inputs.map((_, at) => (args as unknown as Record<string, unknown>)[at]),
        )
      })
    },
  }
}

/**
 * Values that take no bytes are refused: a list of them may be as long as its length says, which the data is free to choose.
 * @throws TypeError
 */
function checkParameters(parameters: readonly Parameter[]): void {
  if (!Array.isArray(parameters)) throw new TypeError('no list of parameters')
  for (const { type, components = [] } of parameters as readonly Parameter[]) {
    const isTuple = type.startsWith('tuple')
    if (/\[0+\]/.test(type) || (isTuple && components.length === 0)) throw new TypeError(`${type} takes no bytes`)
    if (isTuple) checkParameters(components)
  }
}

function standardError(data: Hex): Decoded | undefined {
  const reason = decodeRevertReason(data)
  if (reason.kind === 'error') return { name: 'Error', args: { message: reason.reason } }
  if (reason.kind === 'panic') return { name: 'Panic', args: { code: `${reason.code}` }, meaning: reason.meaning }
  return undefined
}

function named({ name, inputs }: Item, values: readonly unknown[]): Decoded {
  return { name, args: byName(inputs, values) }
}

function byName(parameters: readonly Parameter[], values: readonly unknown[]): Record<string, unknown> {
  return Object.fromEntries(parameters.map((parameter, at) => [parameter.name || `${at}`, json(values[at], parameter)]))
}

function json(value: unknown, { type, components = [] }: Parameter): unknown {
  const item = type.replace(/\[\d*\]$/, '')
  if (Array.isArray(value) && item !== type) return value.map((one) => json(one, { type: item, components }))
  if (type === 'tuple')
    return byName(
      components,
      components.map(({ name = '' }, at) => Object(value)[name || at]),
    )
  if (type === 'address') return `${value}`.toLowerCase()
  return typeof value === 'bigint' || typeof value === 'number' ? `${value}` : value
}

/** Contracts write what they like: what does not fit is not decoded. */
function attempt(decode: () => Decoded): Decoded | undefined {
  try {
    return decode()
  } catch {
    return undefined
  }
}
