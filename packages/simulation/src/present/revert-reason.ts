import type { Hex } from '@upfront/protocol'

/** Decoded revert data. */
export type RevertReason =
  | { kind: 'none' }
  /** Solidity's `Error(string)`. */
  | { kind: 'error'; reason: string }
  /** Solidity's `Panic(uint256)`. */
  | { kind: 'panic'; code: bigint; meaning: string }
  | { kind: 'custom'; selector: Hex; data: Hex }
  /** Fewer than four bytes, so no selector. */
  | { kind: 'bytes'; data: Hex }

const ERROR_SELECTOR = '0x08c379a0'
const PANIC_SELECTOR = '0x4e487b71'
const SELECTOR_LENGTH = 10
const WORD = 64

/** https://docs.soliditylang.org/en/latest/control-structures.html#panic-via-assert-and-error-via-require, in geth's words. */
const PANIC_MEANINGS = new Map<bigint, string>([
  [0x00n, 'generic panic'],
  [0x01n, 'assert(false)'],
  [0x11n, 'arithmetic underflow or overflow'],
  [0x12n, 'division or modulo by zero'],
  [0x21n, 'enum overflow'],
  [0x22n, 'invalid encoded storage byte array accessed'],
  [0x31n, 'out-of-bounds array access; popping on an empty array'],
  [0x32n, 'out-of-bounds access of an array or bytesN'],
  [0x41n, 'out of memory'],
  [0x51n, 'uninitialized function'],
])

/** @param data the revert data, lower-case hex */
export function decodeRevertReason(data: Hex): RevertReason {
  if (data === '0x') return { kind: 'none' }
  if (data.length < SELECTOR_LENGTH) return { kind: 'bytes', data }
  const selector = data.slice(0, SELECTOR_LENGTH) as Hex
  const body = data.slice(SELECTOR_LENGTH)
  const known =
    selector === ERROR_SELECTOR ? decodeError(body) : selector === PANIC_SELECTOR ? decodePanic(body) : undefined
  return known ?? { kind: 'custom', selector, data: `0x${body}` }
}

/** The reason of `Error(string)`, or the meaning of `Panic(uint256)`; undefined for other data. */
export function revertMessage(data: Hex): string | undefined {
  const said = decodeRevertReason(data)
  if (said.kind === 'error') return said.reason
  return said.kind === 'panic' ? said.meaning : undefined
}

function decodeError(body: string): RevertReason | undefined {
  const offset = wordAt(body, 0)
  if (offset === undefined) return undefined
  const length = wordAt(body, offset * 2)
  if (length === undefined) return undefined
  const start = offset * 2 + WORD
  const end = start + length * 2
  if (end > body.length) return undefined
  const reason = new TextDecoder('utf-8', { ignoreBOM: true }).decode(Buffer.from(body.slice(start, end), 'hex'))
  return { kind: 'error', reason }
}

function decodePanic(body: string): RevertReason | undefined {
  if (body.length < WORD) return undefined
  const code = BigInt(`0x${body.slice(0, WORD)}`)
  return { kind: 'panic', code, meaning: PANIC_MEANINGS.get(code) ?? `unknown panic code: 0x${code.toString(16)}` }
}

/** An ABI length or offset in bytes; undefined if it is beyond the data. */
function wordAt(body: string, at: number): number | undefined {
  if (at + WORD > body.length) return undefined
  const value = BigInt(`0x${body.slice(at, at + WORD)}`)
  return value > BigInt(body.length) ? undefined : Number(value)
}
