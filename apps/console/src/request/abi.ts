import { type Abi, type AbiFunction, parseAbi, toFunctionSignature } from 'viem'
import { FieldLabel } from './draft-error.js'

/** Parses a typed ABI: JSON as compilers write it, or lines such as `function mint(uint256)`. @throws DraftError */
export function abiOf(typed: string): Abi {
  const place = new FieldLabel('ABI', 'abi')
  const text = typed.trim()
  if (text === '') return []
  try {
    if (!text.startsWith('[') && !text.startsWith('{'))
      return parseAbi(text.split('\n').filter((line) => line.trim() !== ''))
    const value = JSON.parse(text) as Abi | { abi?: Abi }
    const abi = 'abi' in value ? value.abi : value
    if (Array.isArray(abi)) return abi
  } catch (error) {
    throw place.error(String((error as Error).message.split('\n')[0]))
  }
  throw place.error('neither a list of entries nor a compiler’s file that holds one')
}

/** Functions by signature; empty while the ABI is invalid. */
export function functionsOf(typed: string): ReadonlyMap<string, AbiFunction> {
  try {
    const functions = abiOf(typed).filter((entry): entry is AbiFunction => entry.type === 'function')
    return new Map(functions.map((entry) => [toFunctionSignature(entry), entry]))
  } catch {
    return new Map()
  }
}

/** Parses a typed call: a signature and its arguments. Undefined for anything else, including 0x-hex. */
export function callTextOf(data: string): { signature: string; args: string } | undefined {
  const text = data.trim()
  const opening = text.indexOf('(')
  if (!/^(function\s+)?[A-Za-z_$][\w$]*\s*$/.test(text.slice(0, Math.max(opening, 0)))) return undefined
  let depth = 0
  for (let at = opening; at < text.length; at++) {
    if (text[at] === '(') depth += 1
    if (text[at] !== ')') continue
    depth -= 1
    if (depth > 0) continue
    const args = text.slice(at + 1).trim()
    const isList = args === '' || (args.startsWith('[') && args.endsWith(']'))
    return isList ? { signature: text.slice(0, at + 1).replace(/^function\s+/, ''), args: args || '[]' } : undefined
  }
  return undefined
}

/** The arguments in a call's text, each as its field shows it. */
export function argumentsOf(args: string): string[] {
  try {
    const values = JSON.parse(args) as unknown[]
    return values.map((value) => (typeof value === 'string' ? value : JSON.stringify(value)))
  } catch {
    return []
  }
}

/** The text of a call from its argument fields; lists and tuples are JSON. */
export function textOfCall(signature: string, types: readonly string[], fields: readonly string[]): string {
  const values = types.map((type, at) => {
    const field = fields[at] ?? ''
    if (!type.endsWith(']') && !type.startsWith('tuple') && type !== 'bool') return field
    try {
      return JSON.parse(field) as unknown
    } catch {
      return field
    }
  })
  return `${signature} ${JSON.stringify(values)}`
}
