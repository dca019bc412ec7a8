import type { Address, BlockHeader, Hash, Hex } from '@upfront/protocol'
import { keccak256 } from 'viem'
import type { StateLayer, StateRead, StateValue } from '../engine/state.js'
import type { ChainRules } from '../plan/chain-rules.js'

/**
 * op-geth's `EnsureCreate2Deployer`: OP-stack nodes put this into the state before the first transaction of the block whose time is
 * Canyon's.
 */
const CREATE2_DEPLOYER: { address: Address; codeHash: Hash } = {
  address: '0x13b0d85ccb8bf860b6b79af3029fca081ae9bef2',
  codeHash: '0xb0550b5b431e30d38000efb7107aaa0ade03d48a7198a140edda9d27134468b2',
}

/**
 * The code that a fork places before the transactions of its first block; undefined for all other blocks, and if the node has other code
 * there.
 * @param read reads the node's values of the state after the block
 * @throws or rejects with what `read` does
 */
export async function placedByFork(
  { forks }: Pick<ChainRules, 'forks'>,
  { timestamp, hash }: Pick<BlockHeader, 'timestamp' | 'hash'>,
  read: (reads: StateRead[]) => Promise<StateValue[]>,
  { address, codeHash } = CREATE2_DEPLOYER,
): Promise<StateLayer | undefined> {
  if (!forks.some((each) => each.fork === 'canyon' && 'timestamp' in each && each.timestamp === timestamp))
    return undefined
  const [code] = (await read([{ kind: 'code', address }])) as [Hex]
  if (keccak256(code) !== codeHash) return undefined
  const change = { code, storageCleared: false, storage: new Map<Hash, Hash>() }
  return { id: `placed-${hash}`, accounts: new Map([[address, change]]) }
}
