import { setImmediate } from 'node:timers/promises'
import { createMerkleProof, createMPT } from '@ethereumjs/mpt'
import { RLP } from '@ethereumjs/rlp'
import { hexToBytes, KECCAK256_NULL } from '@ethereumjs/util'
import { developmentBase } from '@upfront/engine-conformance'
import type { Address, Hash, Hex } from '@upfront/protocol'
import { headerHash } from '@upfront/simulation'
import { bytesToHex, numberToHex } from 'viem'
import { type DecodedWitness, prove, type Witness, witnessJson } from '../src/index.js'

const SLOTS = 600
const ACCOUNT: Address = `0x${'ac'.repeat(20)}`

/** A contract with many slots, each proven. */
async function longWitness(): Promise<Parameters<typeof prove>[0]> {
  const slots = await createMPT({ useKeyHashing: true })
  const storage = new Map<Hash, Hash>()
  for (let index = 1; index <= SLOTS; index++) {
    const slot = numberToHex(index, { size: 32 })
    storage.set(slot, slot)
    await slots.put(hexToBytes(slot), RLP.encode(BigInt(index)))
  }
  const state = await createMPT({ useKeyHashing: true })
  await state.put(hexToBytes(ACCOUNT), RLP.encode([1n, 2n, slots.root(), KECCAK256_NULL]))
  const nodes = new Set<Hex>((await createMerkleProof(state, hexToBytes(ACCOUNT))).map((node) => bytesToHex(node)))
  for (const slot of storage.keys())
    for (const node of await createMerkleProof(slots, hexToBytes(slot))) nodes.add(bytesToHex(node))
  const { hash: _, ...fields } = { ...developmentBase, stateRoot: bytesToHex(state.root()) }
  const base = { ...fields, hash: headerHash(fields) }
  const account = { nonce: 1n, balance: 2n, code: '0x' as const, storage }
  return { base, ancestors: [], blockHashes: new Map(), accounts: new Map([[ACCOUNT, account]]), nodes: [...nodes] }
}

/** How often the event loop turned until the work was done. */
async function turnsDuring(work: Promise<unknown>): Promise<number> {
  let isDone = false
  const done = work.finally(() => {
    isDone = true
  })
  let turns = 0
  for (; !isDone; turns++) await setImmediate()
  await done
  return turns
}

let witness: Pick<DecodedWitness, 'base' | 'ancestors' | 'blockHashes' | 'accounts' | 'nodes'>
beforeAll(async () => {
  witness = await longWitness()
})

it('prove yields to the event loop after every 16 values of a long witness', async () => {
  const proven = prove(witness)
  expect(await turnsDuring(proven)).toBeGreaterThan(SLOTS / 16)
  expect(await proven).toEqual(witness.nodes)
})

it('prove stops if the buyer has disconnected', async () => {
  const gone = new Error('gone')
  let pauses = 0
  const pause = async () => {
    if (++pauses === 3) throw gone
  }
  await expect(prove(witness, pause)).rejects.toBe(gone)
  expect(pauses).toBe(3)
})

it('witnessJson serializes 512 nodes per turn, and equals JSON.stringify', () => {
  const nodes = Array.from({ length: 2_000 }, (_, index) => numberToHex(index, { size: 532 }))
  for (const some of [[], nodes.slice(0, 1), nodes]) {
    const long = { accounts: {}, blockHashes: {}, nodes: some } as unknown as Witness
    const parts = witnessJson(long)
    let turns = 1
    let made = parts.next()
    for (; !made.done; turns++) made = parts.next()
    expect(JSON.parse(made.value.toString())).toEqual(long)
    expect(made.value.length).toBe(JSON.stringify(long).length)
    expect(turns).toBe(Math.max(1, Math.ceil(some.length / 512)))
  }
})
