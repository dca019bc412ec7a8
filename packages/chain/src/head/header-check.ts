import { UpstreamFault } from '@upfront/node'
import type { BlockHeader } from '@upfront/protocol'
import { headerHash } from '@upfront/simulation'

/** Most sets of fields remembered: a chain has one per fork. */
const MAX_SHAPES = 64

/**
 * Checks that headers of one chain hash to their own hash. A chain may use a header format unknown here. A header that does not match its
 * hash is therefore rejected only if one with the same fields matched before.
 */
export class HeaderCheck {
  readonly #shapes = new Set<string>()

  /**
   * Returns the header that a node sent as `block`.
   * @throws UpstreamFault if its hash does not match its fields
   */
  check(header: BlockHeader, block: unknown): BlockHeader {
    const isOwn = headerHash(header) === header.hash
    if (!isOwn && this.#shapes.size === 0) return header
    const shape = shapeOf(block)
    if (isOwn) {
      if (this.#shapes.size < MAX_SHAPES) this.#shapes.add(shape)
      return header
    }
    if (this.#shapes.has(shape))
      throw new UpstreamFault('malformed', `block ${header.number} does not hash to its hash: a field of it is wrong`)
    return header
  }

  /** Whether state may be carried to this header: its hash matches its fields, or no header of this chain matched so far. */
  isCarriable({ hash, ...fields }: BlockHeader): boolean {
    return this.#shapes.size === 0 || headerHash(fields) === hash
  }
}

/** Fields of an RPC block that are not part of its header, and the hash itself. */
const NON_HEADER_FIELDS = new Set(['transactions', 'uncles', 'withdrawals', 'size', 'totalDifficulty', 'hash'])

function shapeOf(block: unknown): string {
  return Object.entries(block as object)
    .filter(([name, value]) => !NON_HEADER_FIELDS.has(name) && value !== null && value !== undefined)
    .map(([name]) => name)
    .sort()
    .join()
}
