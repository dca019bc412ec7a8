import { setImmediate } from 'node:timers/promises'
import { createMPT, type MerklePatriciaTrie } from '@ethereumjs/mpt'
import { RLP } from '@ethereumjs/rlp'
import { hexToBytes, KECCAK256_NULL_S, KECCAK256_RLP_S, MapDB } from '@ethereumjs/util'
import type { Hash, Hex } from '@upfront/protocol'
import { headerHash } from '@upfront/simulation'
import { bytesToHex, keccak256 } from 'viem'
import type { DecodedAccount, DecodedWitness } from './witness.js'

/** Trie nodes by hash, both as hex without 0x. */
class TrieNodes extends MapDB<string, string> {
  readonly used = new Set<string>()

  override async get(hash: string): Promise<string | undefined> {
    this.used.add(hash)
    return super.get(hash)
  }
}

/** Amount of work between two pauses. */
const VALUES_PER_PART = 16
const NODES_PER_PART = 128

/** An account in the state trie: nonce, balance, storage root, code hash (Yellow Paper). */
type Account = readonly [bigint, bigint, Hash, Hash]

const NO_ACCOUNT: Account = [0n, 0n, KECCAK256_RLP_S, KECCAK256_NULL_S]

/**
 * Proves every value of the witness under the state root of its `base`, and its block hashes by headers.
 * @param pause yields to other work; proving may take seconds
 * @returns the trie nodes used, each once, in their order
 * @throws Error that names the unproven value
 */
export async function prove(
  witness: Pick<DecodedWitness, 'base' | 'ancestors' | 'blockHashes' | 'accounts' | 'nodes'>,
  pause: () => Promise<unknown> = () => setImmediate(),
): Promise<Hex[]> {
  const { base, accounts, nodes } = witness
  proveHeaders(witness)
  const database = new TrieNodes()
  const byHash = new Map<string, Hex>()
  for (const [index, node] of nodes.entries()) {
    if (index % NODES_PER_PART === NODES_PER_PART - 1) await pause()
    const hash = keccak256(node).slice(2)
    byHash.set(hash, node)
    await database.put(hash, node.slice(2))
  }
  let values = 0
  const step = async () => {
    if (++values % VALUES_PER_PART === 0) await pause()
  }
  const state = await trieOf(base.stateRoot, database)
  for (const [address, account] of accounts) await proveAccount(address, account, state, database, step)
  return [...byHash].flatMap(([hash, node]) => (database.used.has(hash) ? [node] : []))
}

/** @throws Error if `base` does not match its hash, a block hash is not that of an ancestor, or an ancestor is not needed */
export function proveHeaders({
  base,
  ancestors,
  blockHashes,
}: Pick<DecodedWitness, 'base' | 'ancestors' | 'blockHashes'>): void {
  const hashes = new Map([
    [base.number, base.hash],
    [base.number - 1n, base.parentHash],
  ])
  let child = base
  assertHash(base, 'base')
  for (const [index, header] of ancestors.entries()) {
    assertHash(header, `ancestors[${index}]`)
    if (header.hash !== child.parentHash || header.number !== child.number - 1n)
      throw new Error(`ancestors[${index}]: is not the parent of block ${child.number}`)
    hashes.set(header.number - 1n, header.parentHash)
    child = header
  }
  for (const [number, hash] of blockHashes) {
    // Blocks above `base` have no known hash; they must be recorded as zero.
    const known = number > base.number ? `0x${'0'.repeat(64)}` : hashes.get(number)
    if (known !== hash) throw new Error(`blockHashes.${number}: is not proven by the headers`)
  }
  const oldest = [...blockHashes.keys()].reduce(
    (lowest, number) => (number < lowest ? number : lowest),
    base.number - 1n,
  )
  const needed = Number(base.number - 1n - oldest)
  if (ancestors.length > needed) throw new Error(`ancestors[${needed}]: proves no block hash of the witness`)
}

function assertHash({ hash, ...header }: DecodedWitness['base'], what: string): void {
  if (headerHash(header) !== hash) throw new Error(`${what}: its hash is not that of its fields`)
}

async function proveAccount(
  address: Hex,
  { balance, nonce, code, storage }: DecodedAccount,
  state: MerklePatriciaTrie,
  database: TrieNodes,
  step: () => Promise<void>,
): Promise<void> {
  await step()
  const leaf = await valueAt(state, address, `account ${address}`)
  const [provenNonce, provenBalance, storageRoot, codeHash] = leaf === null ? NO_ACCOUNT : accountOf(leaf)
  const assertField = (fits: boolean, what: string) => {
    if (!fits) throw new Error(`account ${address}: its ${what} is not what the state root proves`)
  }
  assertField(nonce === provenNonce, 'nonce')
  assertField(balance === provenBalance, 'balance')
  assertField(keccak256(code) === codeHash, 'code')
  const slots = storageRoot === KECCAK256_RLP_S ? undefined : await trieOf(storageRoot, database)
  for (const [slot, value] of storage) {
    await step()
    const word = await (slots && valueAt(slots, slot, `slot ${slot} of ${address}`))
    assertField(BigInt(value) === (word ? quantity(RLP.decode(word) as Uint8Array) : 0n), `slot ${slot}`)
  }
}

async function valueAt(trie: MerklePatriciaTrie, key: Hex, what: string): Promise<Uint8Array | null> {
  try {
    return await trie.get(hexToBytes(key), true)
  } catch {
    throw new Error(`${what}: the witness lacks trie nodes that prove it`)
  }
}

function trieOf(root: Hash, db: TrieNodes): Promise<MerklePatriciaTrie> {
  return createMPT({ db, root: hexToBytes(root), useKeyHashing: true })
}

function accountOf(leaf: Uint8Array): Account {
  const [nonce, balance, storageRoot, codeHash] = RLP.decode(leaf) as [Uint8Array, Uint8Array, Uint8Array, Uint8Array]
  return [quantity(nonce), quantity(balance), bytesToHex(storageRoot), bytesToHex(codeHash)]
}

function quantity(bytes: Uint8Array): bigint {
  return bytes.length === 0 ? 0n : BigInt(bytesToHex(bytes))
}
