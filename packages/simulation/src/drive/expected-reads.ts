import { type Address, type Hash, toQuantity } from '@upfront/protocol'
import { readKey, type StateRead } from '../engine/state.js'
import { isForkActive } from '../plan/rules-at.js'
import type { PlannedBlock, SimulationPlan } from '../plan/simulation-plan.js'
import { Overridden } from './overridden.js'

/** EIP-4788, EIP-2935, EIP-7002, EIP-7251: what every block of their forks touches. */
const BEACON_ROOTS: Address = '0x000f3df6d732807ef1319fb7b8bb8522d0beac02'
const BLOCK_HASHES: Address = '0x0000f90827f1c53a10cb7a02335b175320002935'
const WITHDRAWAL_REQUESTS: Address = '0x00000961ef480eb55e80d19ad83579a64c007002'
const CONSOLIDATION_REQUESTS: Address = '0x0000bbddc7ce488642fb579f8b00f3a590007251'
const HISTORY_LENGTH = 8191n
/** Excess, count, head and tail of a request queue. */
const QUEUE_SLOTS = [0n, 1n, 2n, 3n]

/** OP stack: fees are read from L1Block and paid to the vaults. */
const L1_BLOCK: Address = '0x4200000000000000000000000000000000000015'
const L1_BLOCK_SLOTS = [1n, 3n, 5n, 6n, 7n, 8n]
/** Jovian. */
const DA_FOOTPRINT_SLOT = 8n
const FEE_VAULTS: readonly Address[] = [
  '0x4200000000000000000000000000000000000011',
  '0x4200000000000000000000000000000000000019',
  '0x420000000000000000000000000000000000001a',
  '0x420000000000000000000000000000000000001b',
]

/**
 * What a plan is bound to read, whatever its calls do: at most `most` values, each once, none that is overridden.
 * @param cold with what is read on a block that nobody simulated on yet, or by few plans: accounts that fees and withdrawals go
 * to, access lists, slots of system contracts
 */
export function expectedReads(plan: SimulationPlan, most: number, cold: boolean): StateRead[] {
  const overridden = new Overridden()
  const reads = new Map<string, StateRead>()
  const add = (read: StateRead) => {
    if (reads.size < most && !overridden.has(read)) reads.set(readKey(read), read)
  }
  let before: PlannedBlock | undefined
  for (const block of plan.blocks) {
    if (reads.size >= most) break
    overridden.add(block.stateOverrides)
    for (const { from, to } of block.calls)
      for (const address of to === null ? [from] : [from, to]) for (const read of accountReads(address)) add(read)
    if (block.rules !== before?.rules) for (const read of systemReads(block)) add(read)
    if (cold) for (const read of coldReads(block)) add(read)
    before = block
  }
  return [...reads.values()]
}

/** An account as an engine loads it. Nothing is read of precompiles. */
export function accountReads(address: Address): StateRead[] {
  if (BigInt(address) <= 0x100n && address !== '0x0000000000000000000000000000000000000000') return []
  return [
    { kind: 'balance', address },
    { kind: 'nonce', address },
    { kind: 'code', address },
  ]
}

/** Of the system calls around a block. */
function systemReads({ rules }: PlannedBlock): StateRead[] {
  const reads: StateRead[] = []
  const contract = (address: Address, slots: readonly bigint[] = []) => {
    reads.push({ kind: 'code', address }, ...slots.map((slot) => storageRead(address, slot)))
  }
  if (isForkActive(rules.fork, 'cancun')) contract(BEACON_ROOTS)
  if (isForkActive(rules.fork, 'prague')) contract(BLOCK_HASHES)
  if (rules.opFork !== undefined) reads.push(storageRead(L1_BLOCK, DA_FOOTPRINT_SLOT))
  else if (isForkActive(rules.fork, 'prague')) {
    contract(WITHDRAWAL_REQUESTS, QUEUE_SLOTS)
    contract(CONSOLIDATION_REQUESTS, QUEUE_SLOTS)
  }
  return reads
}

function coldReads({ rules, number, timestamp, feeRecipient, calls, withdrawals }: PlannedBlock): StateRead[] {
  const reads = accountReads(feeRecipient)
  const contract = (address: Address, slots: readonly bigint[]) => {
    reads.push(...accountReads(address), ...slots.map((slot) => storageRead(address, slot)))
  }
  for (const { accessList } of calls)
    for (const { address, storageKeys } of accessList) {
      reads.push(...accountReads(address))
      for (const slot of storageKeys) reads.push({ kind: 'storage', address, slot })
    }
  for (const { address } of withdrawals) reads.push(...accountReads(address))
  if (isForkActive(rules.fork, 'cancun')) {
    const ring = timestamp % HISTORY_LENGTH
    contract(BEACON_ROOTS, [ring, ring + HISTORY_LENGTH])
  }
  if (isForkActive(rules.fork, 'prague')) contract(BLOCK_HASHES, [(number - 1n) % HISTORY_LENGTH])
  if (rules.opFork !== undefined) {
    contract(L1_BLOCK, L1_BLOCK_SLOTS)
    for (const vault of FEE_VAULTS) reads.push(...accountReads(vault))
  } else if (isForkActive(rules.fork, 'prague')) {
    contract(WITHDRAWAL_REQUESTS, [])
    contract(CONSOLIDATION_REQUESTS, [])
  }
  return reads
}

function storageRead(address: Address, slot: bigint): StateRead {
  return { kind: 'storage', address, slot: `0x${toQuantity(slot).slice(2).padStart(64, '0')}` as Hash }
}
