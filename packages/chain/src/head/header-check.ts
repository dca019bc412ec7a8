import { UpstreamFault } from '@upfront/node'
import type { BlockHeader } from '@upfront/protocol'
import { headerHash } from '@upfront/simulation'

/** Sets of fields that are remembered: a chain has one for each of its forks. */
const MOST_SHAPES = 64

/**
 * Tells whether headers of one chain hash to their own hash. A chain may have headers of a kind that is not known here, so that a header which does
 * not is refused only where one with the same fields has been seen to.
 */
export class HeaderCheck {
  readonly #shapes = new Set<string>()

  /**
   * The header, which a node gave as `block`.
   * @throws UpstreamFault where its hash is not that of its fields
   */
  checked(header: BlockHeader, block: unknown): BlockHeader {
    const isOwn = headerHash(header) === header.hash
    if (!isOwn && this.#shapes.size === 0) return header
    const shape = shapeOf(block)
    if (isOwn) {
      if (this.#shapes.size < MOST_SHAPES) this.#shapes.add(shape)
      return header
    }
    if (this.#shapes.has(shape))
      throw new UpstreamFault('malformed', `block ${header.number} does not hash to its hash: a field of it is wrong`)
    return header
  }

  /** Whether a header's state may be carried: its hash is that of its fields, or none of this chain's was so far. */
  isSure({ hash, ...fields }: BlockHeader): boolean {
    return this.#shapes.size === 0 || headerHash(fields) === hash
  }
}

/** What of a block is not in its header, and differs from answer to answer. */
const BESIDE_HEADER = new Set(['transactions', 'uncles', 'withdrawals', 'size', 'totalDifficulty', 'hash'])

function shapeOf(block: unknown): string {
  return Object.entries(block as object)
    .filter(([name, value]) => !BESIDE_HEADER.has(name) && value !== null && value !== undefined)
    .map(([name]) => name)
    .sort()
    .join()
}
