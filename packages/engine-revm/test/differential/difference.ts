import type { Answer } from './answer.js'

/** The first place in which two answers differ, with both values. */
export function differenceOf(one: Answer, other: Answer): string | undefined {
  return find(one, other, '')
}

/** The same, where block hashes differ for the state root's sake: in geth's answer it is not zero. */
export function differenceFromGeth({ touched: _, ...ours }: Answer, geth: Answer): string | undefined {
  return find(withoutHashes(ours), withoutHashes(geth), '')
}

function withoutHashes(answer: Answer): unknown {
  let text = JSON.stringify(answer)
  if (Array.isArray(answer.result)) {
    answer.result.forEach(({ hash }: { hash: string }, index) => {
      text = text.replaceAll(hash.slice(2), `hash of block ${index}`)
    })
  }
  return JSON.parse(text, (key, value) => (key === 'stateRoot' ? undefined : value))
}

function find(one: unknown, other: unknown, at: string): string | undefined {
  if (typeof one !== 'object' || one === null || typeof other !== 'object' || other === null) {
    return one === other ? undefined : `${at}: ${JSON.stringify(one)} or ${JSON.stringify(other)}`
  }
  for (const key of new Set([...Object.keys(one), ...Object.keys(other)])) {
    const within = find((one as Record<string, unknown>)[key], (other as Record<string, unknown>)[key], `${at}.${key}`)
    if (within !== undefined) return within
  }
  return undefined
}
