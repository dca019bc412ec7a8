import { createMPT } from '@ethereumjs/mpt'
import { RLP } from '@ethereumjs/rlp'
import { orderedTrieRoot } from '@upfront/simulation'
import { hexOf } from '../src/state/bytes.js'

async function generalTrieRoot(values: Uint8Array[]) {
  const trie = await createMPT()
  for (const [index, value] of values.entries()) await trie.put(RLP.encode(index), value)
  return hexOf(trie.root())
}

describe('orderedTrieRoot', () => {
  it.each([0, 1, 2, 16, 17, 128, 129, 257, 300])('of %i values is that of a general trie', async (count) => {
    const values = Array.from({ length: count }, (_, index) => new Uint8Array(1 + (index % 70)).fill(index + 1))
    expect(orderedTrieRoot(values)).toBe(await generalTrieRoot(values))
  })
})
