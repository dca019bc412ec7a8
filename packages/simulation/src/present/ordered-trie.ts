import type { Hash } from '@upfront/protocol'
import { keccak256, numberToBytes, toRlp } from 'viem'

type RlpItem = Uint8Array | readonly RlpItem[]
type Leaf = { path: Uint8Array; value: Uint8Array }

const BRANCH_WIDTH = 16
const HASH_LENGTH = 32
const EMPTY = new Uint8Array(0)

/**
 * Root of the Merkle-Patricia trie from RLP-encoded index to value, as headers commit to transactions, receipts and withdrawals. Built in
 * one pass over the sorted keys, which is much faster than a general trie.
 */
export function orderedTrieRoot(values: readonly Uint8Array[]): Hash {
  const leaves = values.map((value, index) => ({
    path: nibbles(toRlp(index === 0 ? EMPTY : numberToBytes(index), 'bytes')),
    value,
  }))
  leaves.sort((a, b) => Buffer.compare(a.path, b.path))
  return keccak256(toRlp(leaves.length === 0 ? EMPTY : node(leaves, 0), 'bytes'))
}

function node(leaves: Leaf[], depth: number): RlpItem {
  const [first] = leaves as [Leaf]
  if (leaves.length === 1) return [compactPath(first.path.subarray(depth), true), first.value]
  const shared = sharedPrefix(first.path, leaves.at(-1)!.path, depth)
  if (shared > depth) return [compactPath(first.path.subarray(depth, shared), false), reference(node(leaves, shared))]
  const children: RlpItem[] = []
  let start = 0
  for (let nibble = 0; nibble < BRANCH_WIDTH; nibble++) {
    let end = start
    while (end < leaves.length && leaves[end]!.path[depth] === nibble) end++
    children.push(end > start ? reference(node(leaves.slice(start, end), depth + 1)) : EMPTY)
    start = end
  }
  // No key is a prefix of another (RLP of distinct indices), so a branch holds no value.
  return [...children, EMPTY]
}

/** Nodes shorter than 32 bytes are embedded; others are referenced by hash. */
function reference(item: RlpItem): RlpItem {
  const encoded = toRlp(item, 'bytes')
  return encoded.length < HASH_LENGTH ? item : keccak256(encoded, 'bytes')
}

function sharedPrefix(a: Uint8Array, b: Uint8Array, from: number): number {
  let end = from
  while (end < a.length && a[end] === b[end]) end++
  return end
}

function nibbles(bytes: Uint8Array): Uint8Array {
  return Uint8Array.from(bytes).reduce(
    (path, byte, index) => {
      path[2 * index] = byte >> 4
      path[2 * index + 1] = byte & 0xf
      return path
    },
    new Uint8Array(2 * bytes.length),
  )
}

/** Hex-prefix encoding (Yellow Paper, appendix C). */
function compactPath(path: Uint8Array, leaf: boolean): Uint8Array {
  const flag = leaf ? 2 : 0
  const odd = path.length % 2
  const compact = new Uint8Array(1 + (path.length >> 1))
  compact[0] = odd ? ((flag + 1) << 4) | path[0]! : flag << 4
  for (let index = odd; index < path.length; index += 2)
    compact[1 + (index >> 1)] = (path[index]! << 4) | path[index + 1]!
  return compact
}
