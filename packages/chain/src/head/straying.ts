import type { BlockHeader } from '@upfront/protocol'

/** How a node's head disagrees with the others'. */
export type Straying = 'lags' | 'ahead' | 'differs'

export type SeenHead = Pick<BlockHeader, 'number' | 'hash' | 'parentHash'>

/**
 * Finds the nodes whose heads should not be used, among heads asked for at the same time. The reference height is the highest that two
 * nodes have reached: a node more than `slack` blocks below it lags, one more than that above it is ahead. Of the rest, the hash of the
 * majority at the lowest common height counts (on a tie, the first node's); the others differ.
 * @param heads by node, the preferred one first; undefined if it did not answer
 * @param isStuck whether a node stood still while others advanced. If one of two nodes is ahead, this shows that the other one lags
 */
export function findStraying(
  heads: readonly (SeenHead | undefined)[],
  isStuck: readonly boolean[],
  slack: bigint,
): (Straying | undefined)[] {
  const reached = referenceHeight(heads, isStuck)
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

function referenceHeight(heads: readonly (SeenHead | undefined)[], isStuck: readonly boolean[]): bigint | undefined {
  const answered = heads.flatMap((head, node) => (head === undefined ? [] : [{ number: head.number, node }]))
  const [second, highest] = answered.sort(byHeight).slice(-2)
  if (highest === undefined || second === undefined) return undefined
  return answered.length === 2 && isStuck[second.node] ? highest.number : second.number
}

function byHeight(a: { number: bigint }, b: { number: bigint }): number {
  return Number(a.number - b.number)
}

/** The hash at a height of the chain with this head, if the head shows it. */
function hashAt(number: bigint, head: SeenHead): string | undefined {
  if (head.number === number) return head.hash
  return head.number === number + 1n ? head.parentHash : undefined
}
