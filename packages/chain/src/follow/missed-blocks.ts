import type { Hash } from '@upfront/protocol'
import type { Linked } from './branch.js'

/** Which blocks `missedBlocks` looks for. */
export interface Missing<B> {
  linkOf: (block: B) => Linked
  /** Whether the block with this hash is there. */
  isKnown: (hash: Hash) => boolean
  /** Undefined where a block can't be had. */
  byHash: (hash: Hash) => Promise<B | undefined>
  /** Blocks at most. */
  most: number
  /** Below this number none is looked for, and the first that is found ends the search. */
  lowest?: bigint
}

/**
 * The blocks below `block` down to the first whose parent is known, oldest first; undefined where no parent within reach is.
 * @throws Error where a parent has a number that it can't have; as `byHash`
 */
export async function missedBlocks<B>(
  block: B,
  { linkOf, isKnown, byHash, most, lowest = 0n }: Missing<B>,
): Promise<B[] | undefined> {
  const found: B[] = []
  for (let link = linkOf(block); !isKnown(link.parentHash) && link.number > lowest; link = linkOf(found[0]!)) {
    if (found.length === most) return undefined
    const parent = await byHash(link.parentHash)
    if (parent === undefined) return undefined
    const { number } = linkOf(parent)
    if (number !== link.number - 1n) throw new Error(`block ${number} is named as the parent of ${link.number}`)
    found.unshift(parent)
  }
  return found
}
