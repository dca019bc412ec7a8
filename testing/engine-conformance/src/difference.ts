import type { RpcAnswer } from './answer.js'

const MAX_SHOWN = 200

/** The places where two answers differ, each with both values. */
export function differences(expected: unknown, actual: unknown): string[] {
  const found: string[] = []
  compare(expected, actual, '', found)
  return found
}

/**
 * The differences between an engine's answer and a node's. State roots are zero in ours, which changes block hashes:
 * neither is compared, but each hash must denote the same block everywhere.
 */
export function differencesFromNode(node: RpcAnswer, { result, error }: RpcAnswer): string[] {
  return differences(
    { error: shown(node.error), result: withoutHashes(node.result) },
    { error: shown(error), result: withoutHashes(result) },
  )
}

/**
 * Error texts in which we differ from geth: see "Where this differs from geth" in `packages/simulation/README.md`. For lack of gas, geth
 * adds why a price could not be computed, and ours does not.
 */
const SHORTER: readonly (readonly [theirs: RegExp, ours: RegExp])[] = [
  [/^(gas uint64 overflow|out of gas: (out of gas|gas uint64 overflow|max initcode size exceeded.*))$/, /^out of gas$/],
  // The base price of a state-changing instruction is checked after the frame, which may be static (Amsterdam).
  [/^out of gas$/, /^out of gas: write protection$/],
]

/** geth's answer with our error texts where the list allows them. Modifies neither argument. */
export function inOurWords<T>(theirs: T, ours: unknown): T {
  if (typeof theirs === 'string')
    return SHORTER.some(([their, our]) => their.test(theirs) && our.test(String(ours))) ? (ours as T) : theirs
  if (typeof theirs !== 'object' || theirs === null || typeof ours !== 'object' || ours === null) return theirs
  const entries = Object.entries(theirs).map(([key, value]) => [
    key,
    inOurWords(value, (ours as Record<string, unknown>)[key]),
  ])
  return (Array.isArray(theirs) ? entries.map(([, value]) => value) : Object.fromEntries(entries)) as T
}

/** The error without `data`. */
function shown(error: RpcAnswer['error']): RpcAnswer['error'] {
  return error && { code: error.code, message: error.message }
}

function withoutHashes(blocks: unknown): unknown {
  if (!Array.isArray(blocks)) return blocks
  let text = JSON.stringify(blocks)
  for (const [index, { hash }] of blocks.entries()) text = text.replaceAll(hash.slice(2), `hash of block ${index}`)
  return JSON.parse(text, (key, value) => (key === 'stateRoot' ? undefined : value))
}

/** Shortened, because whole blocks are too long. */
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
