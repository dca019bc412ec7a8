import type { RecordedAccount } from '@upfront/engine-conformance'
import type { Address, Hash, Hex } from '@upfront/protocol'
import { keccak256, numberToHex, pad, toRlp } from 'viem'

const EMPTY_ROOT = keccak256('0x80')

/** A trie node as an RLP item: its own encoding if short, else its hash. */
type Node = Hex | Node[]

/** The root of Ethereum's state trie over these accounts. */
export function stateRoot(accounts: ReadonlyMap<Address, RecordedAccount>): Hash {
  return trieRoot(
    [...accounts].map(([address, { balance = '0x0', nonce = '0x0', code = '0x', storage = {} }]) => {
      const slots = Object.entries(storage)
        .filter(([, value]) => BigInt(value) !== 0n)
        .map(([slot, value]): [Hex, Hex] => [keccak256(pad(slot as Hex)), toRlp(short(value))])
      return [keccak256(address), toRlp([short(nonce), short(balance), trieRoot(slots), keccak256(code)])]
    }),
  )
}

/** @param entries hashed keys and encoded values */
function trieRoot(entries: [key: Hex, value: Hex][]): Hash {
  if (entries.length === 0) return EMPTY_ROOT
  const sorted = entries
    .map(([key, value]): [string, Hex] => [key.slice(2), value])
    .sort(([a], [b]) => (a < b ? -1 : 1))
  return keccak256(toRlp(nodeOf(sorted, 0)))
}

function nodeOf(entries: [string, Hex][], depth: number): Node {
  const [first, last] = [entries[0]!, entries.at(-1)!]
  if (entries.length === 1) return [compact(first[0].slice(depth), true), first[1]]
  let shared = depth
  while (shared < first[0].length && first[0][shared] === last[0][shared]) shared++
  if (shared > depth) return [compact(first[0].slice(depth, shared), false), referenceTo(nodeOf(entries, shared))]
  const children = Array.from({ length: 16 }, (_, digit): Node => {
    const below = entries.filter(([key]) => key[depth] === digit.toString(16))
    return below.length === 0 ? '0x' : referenceTo(nodeOf(below, depth + 1))
  })
  return [...children, '0x']
}

function referenceTo(node: Node): Node {
  const encoded = toRlp(node)
  return encoded.length < 2 + 2 * 32 ? node : keccak256(encoded)
}

/** Hex-prefix encoding (Yellow Paper, appendix C). */
function compact(nibbles: string, isLeaf: boolean): Hex {
  const flag = (isLeaf ? 2 : 0) + (nibbles.length % 2)
  return `0x${flag}${nibbles.length % 2 === 0 ? '0' : ''}${nibbles}`
}

function short(value: Hex): Hex {
  const number = BigInt(value)
  return number === 0n ? '0x' : numberToHex(number)
}
