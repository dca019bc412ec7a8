type Answer = { result?: unknown; error?: { code: number; message: string } }

/**
 * Fields in which an answer differs from a recorded one. State roots are zero here, so the hashes of blocks differ: each
 * recorded one stands for the hash that the block has here, wherever it occurs.
 */
export function differences(recorded: Answer, actual: Answer): string[] {
  if (recorded.error !== undefined || actual.error !== undefined) {
    const same = recorded.error?.code === actual.error?.code
    return same ? [] : [`error: expected ${JSON.stringify(recorded.error)}, got ${JSON.stringify(actual.error)}`]
  }
  const found: string[] = []
  compare(withHashesOf(recorded.result, actual.result), actual.result, 'result', found)
  return found
}

function withHashesOf(recorded: unknown, actual: unknown): unknown {
  let text = JSON.stringify(recorded)
  ;(recorded as { hash: string }[]).forEach((block, index) => {
    const hash = (actual as { hash?: string }[])[index]?.hash
    if (hash !== undefined) text = text.replaceAll(block.hash.slice(2), hash.slice(2))
  })
  return JSON.parse(text)
}

function compare(expected: unknown, actual: unknown, at: string, found: string[]): void {
  if (at.endsWith('.stateRoot')) return
  if (typeof expected !== 'object' || expected === null || typeof actual !== 'object' || actual === null) {
    if (expected !== actual) found.push(`${at}: expected ${JSON.stringify(expected)}, got ${JSON.stringify(actual)}`)
    return
  }
  for (const key of new Set([...Object.keys(expected), ...Object.keys(actual)])) {
    compare((expected as Record<string, unknown>)[key], (actual as Record<string, unknown>)[key], `${at}.${key}`, found)
  }
}
