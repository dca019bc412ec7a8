import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { brotliDecompressSync } from 'node:zlib'
import { fromRlp, type Hex, keccak256, numberToHex, pad } from 'viem'

/** Folder of the recordings: see testing/recordings/real-blocks/README.md. */
export const RECORDED_BLOCKS = fileURLToPath(new URL('../../recordings/real-blocks/cases', import.meta.url))

/** A block of a real chain, with the parts of its parent's state that executing it reads. */
export interface RecordedBlock {
  chainId: number
  /** As returned by `eth_getBlockByHash` with full transactions. */
  parent: Record<string, unknown>
  block: Record<string, unknown>
  /** Recorded hashes of ancestors, by number. */
  blockHashes: Readonly<Record<string, Hex>>
  /** State after the parent. Values not recorded are zero. */
  state: RecordedState
}

/** Values as encoded in JSON-RPC. */
export interface RecordedState {
  balance(address: string): Hex
  nonce(address: string): Hex
  code(address: string): Hex
  storage(address: string, slot: string): Hex
}

interface Recording {
  chainId: number
  parent: Record<string, unknown>
  blocks: Record<string, unknown>[]
  states: (Flat | Witness)[]
  codes: Record<string, Hex>
  blockHashes: Record<string, Hex>
}

interface Account {
  balance?: Hex
  nonce?: Hex
  code?: Hex
  codeHash?: Hex
  storage?: Record<string, Hex>
}

interface Flat {
  kind: 'flat'
  accounts: Record<string, Account>
}

interface Witness {
  kind: 'trie'
  root: Hex
  /** RLP of the trie's nodes by hash. */
  nodes: Record<string, Hex>
}

const NOTHING: Hex = '0x0'
const NO_WORD = pad(NOTHING)
/** A decoded trie node. */
type TrieNode = Hex | TrieNode[]

/** @param file name in `RECORDED_BLOCKS` */
export function recordedBlock(file: string): RecordedBlock {
  const text = brotliDecompressSync(readFileSync(`${RECORDED_BLOCKS}/${file}`)).toString()
  const { chainId, parent, blocks, states, codes, blockHashes } = JSON.parse(text) as Recording
  const whole = { transactions: [], withdrawals: [], uncles: [], size: '0x1000', ...parent }
  const [state] = states
  return { chainId, parent: whole, block: blocks[0]!, blockHashes, state: stateOf(state!, codes) }
}

function stateOf(state: Flat | Witness, codes: Record<string, Hex>): RecordedState {
  const account = (address: string): Account & { storageRoot?: Hex } =>
    state.kind === 'flat' ? (state.accounts[address.toLowerCase()] ?? {}) : accountIn(state, address)
  return {
    balance: (address) => account(address).balance ?? NOTHING,
    nonce: (address) => account(address).nonce ?? NOTHING,
    code: (address) => {
      const { code, codeHash = '0x' } = account(address)
      return code ?? codes[codeHash] ?? '0x'
    },
    storage: (address, slot) => {
      const { storage, storageRoot } = account(address)
      if (state.kind === 'flat') return pad(storage?.[pad(slot as Hex)] ?? NOTHING)
      const value = storageRoot === undefined ? undefined : valueAt(state, storageRoot, keccak256(pad(slot as Hex)))
      return value === undefined ? NO_WORD : pad(fromRlp(value, 'hex') as Hex)
    },
  }
}

function accountIn(witness: Witness, address: string): Account & { storageRoot?: Hex } {
  const value = valueAt(witness, witness.root, keccak256(address as Hex))
  if (value === undefined) return {}
  const [nonce, balance, storageRoot, codeHash] = fromRlp(value, 'hex') as [Hex, Hex, Hex, Hex]
  const quantity = (bytes: Hex) => (bytes === '0x' ? NOTHING : numberToHex(BigInt(bytes)))
  return { nonce: quantity(nonce), balance: quantity(balance), storageRoot, codeHash }
}

/** Undefined if the trie has no value, or the witness lacks a node on the path. */
function valueAt({ nodes }: Witness, root: Hex, key: Hex): Hex | undefined {
  const nibbles = key.slice(2)
  let node: TrieNode = root
  let at = 0
  for (;;) {
    if (typeof node === 'string') {
      const encoded: Hex | undefined = nodes[node]
      if (encoded === undefined) return undefined
      node = fromRlp(encoded, 'hex') as TrieNode
    }
    if (node.length === 17) {
      node = node[Number.parseInt(nibbles[at]!, 16)] as TrieNode
      at += 1
      if (node === '0x') return undefined
      continue
    }
    const prefix = (node[0] as Hex).slice(2)
    const flags = Number.parseInt(prefix[0]!, 16)
    const path = flags % 2 === 1 ? prefix.slice(1) : prefix.slice(2)
    if (!nibbles.startsWith(path, at)) return undefined
    at += path.length
    if (flags >= 2) return node[1] as Hex
    node = node[1] as TrieNode
  }
}
