import type { BlockHeader } from '@upfront/protocol'

/** How a node's head is at odds with the others'. */
export type Straying = 'lags' | 'ahead' | 'differs'

export type SeenHead = Pick<BlockHeader, 'number' | 'hash' | 'parentHash'>

/**
 * Which of several nodes' heads, asked for at one time, not to stand on. The height that counts is the highest that two nodes have
 * reached: a node that is more than `slack` blocks below it lags, one that is more than that above it is ahead alone. Of those left, the
 * hash that most of them have at the height of the lowest counts, among equally many the first node's: the others differ.
 * @param heads by node, the preferred one first; undefined where it did not answer
 * @param isStuck whether a node stood still while others moved. Of two nodes, one of which is ahead, this tells that the other lags
 */
export function straying(
  heads: readonly (SeenHead | undefined)[],
  isStuck: readonly boolean[],
  slack: bigint,
): (Straying | undefined)[] {
  const reached = reachedHeight(heads, isStuck)
  const found = heads.map((head): Straying | undefined => {
    if (reached === undefined || head === undefined) return undefined
    if (head.number < reached - slack) return 'lags'
    return head.number > reached + slack ? 'ahead' : undefined
  })
  const left = heads.filter((head, node): head is SeenHead => head !== undefined && found[node] === undefined)
  if (left.length < 2) return found
  const level = left.toSorted(byHeight)[0]!.number
  const counts = new Map<string, number>()
  for (const head of left) {
    const hash = hashAt(level, head)
    if (hash !== undefined) counts.set(hash, (counts.get(hash) ?? 0) + 1)
  }
  const [counting] = [...counts].reduce((most, each) => (each[1] > most[1] ? each : most))
  return heads.map((head, node) => {
    if (head === undefined || found[node] !== undefined) return found[node]
    return (hashAt(level, head) ?? counting) === counting ? undefined : 'differs'
  })
}

function reachedHeight(heads: readonly (SeenHead | undefined)[], isStuck: readonly boolean[]): bigint | undefined {
  const answered = heads.flatMap((head, node) => (head === undefined ? [] : [{ number: head.number, node }]))
  const [second, highest] = answered.sort(byHeight).slice(-2)
  if (highest === undefined || second === undefined) return undefined
  return answered.length === 2 && isStuck[second.node] ? highest.number : second.number
}

function byHeight(a: { number: bigint }, b: { number: bigint }): number {
  return Number(a.number - b.number)
}

/** The hash at a height of a chain with this head, where the head tells. */
function hashAt(number: bigint, head: SeenHead): string | undefined {
  if (head.number === number) return head.hash
  return head.number === number + 1n ? head.parentHash : undefined
}
