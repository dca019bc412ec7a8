import type { Hash, Hex } from '@upfront/protocol'
import type { Node } from './node.js'

interface LinkedBlock {
  number: Hex
  hash: Hash
  parentHash: Hash
}

/** A block's link to its parent never changes: links are forgotten only where there are more than this. */
const MOST_LINKS = 1_000

/**
 * The newest block and its ancestors, followed by the parent that each block names. Several nodes behind one address may answer
 * a number with blocks of different branches; these hashes are of one.
 */
export class Ancestry {
  readonly #parents = new Map<Hash, Hash>()
  readonly #node: Node

  constructor(node: Node) {
    this.#node = node
  }

  /**
   * Block hashes by number, from the newest down to `lowest`; the lower ones are missing where the node has no such block.
   * Throws `NodeFault`.
   */
  async downTo(lowest: bigint): Promise<ReadonlyMap<bigint, Hash>> {
    const newest = await this.#node.request<LinkedBlock>('eth_getBlockByNumber', ['latest', false])
    this.#remember(newest)
    const hashes = new Map<bigint, Hash>()
    let hash: Hash | null = newest.hash
    for (let number = BigInt(newest.number); hash !== null && number >= lowest; number -= 1n) {
      hashes.set(number, hash)
      if (number > lowest) hash = await this.#parentOf(hash)
    }
    return hashes
  }

  async #parentOf(hash: Hash): Promise<Hash | null> {
    const known = this.#parents.get(hash)
    if (known !== undefined) return known
    const block = await this.#node.request<LinkedBlock | null>('eth_getBlockByHash', [hash, false])
    if (block === null) return null
    this.#remember(block)
    return block.parentHash
  }

  #remember({ hash, parentHash }: LinkedBlock): void {
    this.#parents.set(hash, parentHash)
    if (this.#parents.size <= MOST_LINKS) return
    for (const oldest of this.#parents.keys()) return void this.#parents.delete(oldest)
  }
}
