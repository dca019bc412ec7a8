import {
  type Abi,
  type AbiParameter,
  decodeErrorResult,
  decodeEventLog,
  decodeFunctionData,
  getAbiItem,
  type Hex,
} from 'viem'
import { KNOWN_ABI } from './known-abi.js'

/** A function, an event or an error by name, with its arguments in their order. */
export interface Named {
  name: string
  args: { name: string; value: unknown }[]
}

/** Undefined where no known function has this selector, or the arguments do not fit. @param own of the request, counts first */
export function namedCall(data: Hex | undefined, own: Abi): Named | undefined {
  if (data === undefined || data.length < 10) return undefined
  return first(own, (abi) => {
    const { functionName, args = [] } = decodeFunctionData({ abi, data })
    return named(abi, functionName, args, data.slice(0, 10) as Hex)
  })
}

/** @see namedCall */
export function namedError(data: Hex | undefined, own: Abi): Named | undefined {
  if (data === undefined || data.length < 10) return undefined
  return first(own, (abi) => {
    const { errorName, args = [], abiItem } = decodeErrorResult({ abi, data })
    return { name: errorName, args: withNames((abiItem as { inputs?: AbiParameter[] }).inputs, args as unknown[]) }
  })
}

/** @see namedCall */
export function namedLog({ topics, data }: { topics: Hex[]; data: Hex }, own: Abi): Named | undefined {
  if (topics.length === 0) return undefined
  return first(own, (abi) => {
    const { eventName, args } = decodeEventLog({ abi, topics: topics as [Hex, ...Hex[]], data })
    const values = Array.isArray(args) ? args.map((value, at) => [`${at}`, value]) : Object.entries(args ?? {})
    return { name: String(eventName), args: values.map(([name, value]) => ({ name: String(name), value })) }
  })
}

function first(own: Abi, decode: (abi: Abi) => Named): Named | undefined {
  for (const abi of [own, KNOWN_ABI]) {
    try {
      return decode(abi)
    } catch {
      // Not one of this ABI: the next may know it.
    }
  }
  return undefined
}

function named(abi: Abi, name: string, args: readonly unknown[], selector: Hex): Named {
  const item = getAbiItem({ abi, name: selector } as never) as { inputs?: AbiParameter[] } | undefined
  return { name, args: withNames(item?.inputs, args) }
}

function withNames(inputs: readonly AbiParameter[] | undefined, args: readonly unknown[]): Named['args'] {
  return args.map((value, at) => ({ name: inputs?.[at]?.name || `${at}`, value }))
}

/** A value of an argument as text. */
export function valueText(value: unknown): string {
  if (typeof value === 'string') return value
  if (typeof value === 'bigint') return value.toLocaleString('en')
  return JSON.stringify(value, (_, inner) => (typeof inner === 'bigint' ? inner.toString() : inner)) ?? String(value)
}

const MOST_TEXT = 48

/** `transfer(to: 0x12…34, value: 5)` */
export function namedText({ name, args }: Named): string {
  const short = (text: string) => (text.length > MOST_TEXT ? `${text.slice(0, 20)}…${text.slice(-8)}` : text)
  return `${name}(${args.map(({ name: argument, value }) => `${argument}: ${short(valueText(value))}`).join(', ')})`
}
