import type { RpcAnswer } from './answer.js'

const MAX_SHOWN = 200

/** Where two answers differ, each place with both values. */
export function differences(expected: unknown, actual: unknown): string[] {
  const found: string[] = []
  compare(expected, actual, '', found)
  return found
}

/**
 * Where an engine's answer differs from a node's. State roots are zero in ours, and block hashes follow from them: neither is
 * compared, but each hash must be the same block's wherever it occurs.
 */
export function differencesFromNode(node: RpcAnswer, { result, error }: RpcAnswer): string[] {
  return differences(
    { error: shown(node.error), result: withoutHashes(node.result) },
    { error: shown(error), result: withoutHashes(result) },
  )
}

/**
 * Where an instruction can't be paid for, may not run or finds too little, geth's words tell in which order it looks at that; ours do
 * not. The same holds of DUPN, SWAPN and EXCHANGE (EIP-8024) with an operand that is none, on a stack that is too short, and of a
 * precompile's input of a wrong length.
 */
const UNPAID =
  /"(message|error)":"(out of gas(?!: not enough)[^"(]*|gas uint64 overflow|write protection|stack underflow \(\d+ <=> \d+\)|invalid opcode: (DUPN|SWAPN|EXCHANGE)|invalid input length|bad elliptic curve pairing size|one or more of base[^"(]*)/g

/** An answer with one word for all of these. */
export function withoutReasons<T>(answer: T): T {
  return JSON.parse(JSON.stringify(answer).replace(UNPAID, '"$1":"unpaid'))
}

/** Without `data`. */
function shown(error: RpcAnswer['error']): RpcAnswer['error'] {
  return error && { code: error.code, message: error.message }
}

function withoutHashes(blocks: unknown): unknown {
  if (!Array.isArray(blocks)) return blocks
  let text = JSON.stringify(blocks)
  for (const [index, { hash }] of blocks.entries()) text = text.replaceAll(hash.slice(2), `hash of block ${index}`)
  return JSON.parse(text, (key, value) => (key === 'stateRoot' ? undefined : value))
}

/** Whole blocks say no more than their beginning. */
function excerpt(value: unknown): string {
  const text = JSON.stringify(value) ?? 'nothing'
  return text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)}…` : text
}

function compare(expected: unknown, actual: unknown, at: string, found: string[]): void {
  if (typeof expected !== 'object' || expected === null || typeof actual !== 'object' || actual === null) {
    if (expected !== actual) found.push(`${at}: ${excerpt(expected)} expected, ${excerpt(actual)} found`)
    return
  }
  for (const key of new Set([...Object.keys(expected), ...Object.keys(actual)])) {
    compare((expected as Record<string, unknown>)[key], (actual as Record<string, unknown>)[key], `${at}.${key}`, found)
  }
}
