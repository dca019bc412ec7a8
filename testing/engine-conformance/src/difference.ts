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
 * Which words of ours stand for which of geth's: the list in `packages/simulation/README.md`, "Where this differs from geth". Where gas is
 * short geth adds why a price could not be computed, and ours do not.
 */
const SHORTER: readonly (readonly [theirs: RegExp, ours: RegExp])[] = [
  [/^(gas uint64 overflow|out of gas: (out of gas|gas uint64 overflow|max initcode size exceeded.*))$/, /^out of gas$/],
  // The least price of an instruction that writes is looked at after the frame, which may be static (Amsterdam).
  [/^out of gas$/, /^out of gas: write protection$/],
]

/** geth's answer with our words where those may be others. Both are left as they are. */
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
