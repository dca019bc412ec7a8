import fs from 'node:fs'
import { type Address, type BlockHeader, type Hash, type Hex, ZERO_HASH } from '@upfront/protocol'
import {
  type ChainRules,
  chainRulesFromGenesis,
  type StateRead,
  type StateSource,
  type StateValue,
} from '@upfront/simulation'

interface GenesisAccount {
  balance?: Hex
  nonce?: Hex
  code?: Hex
  storage?: Record<Hash, Hash>
}

/** The rules and the state of a chain at its genesis block. */
export function readGenesis(file: string): { rules: ChainRules; stateAt(header: BlockHeader): StateSource } {
  const genesis: { alloc: Record<Address, GenesisAccount> } = JSON.parse(fs.readFileSync(file, 'utf8'))
  const read = (wanted: StateRead): StateValue => {
    if (wanted.kind === 'blockHash') return ZERO_HASH
    const account = genesis.alloc[wanted.address]
    if (wanted.kind === 'storage') return account?.storage?.[wanted.slot] ?? ZERO_HASH
    if (wanted.kind === 'code') return account?.code ?? '0x'
    return BigInt(account?.[wanted.kind] ?? 0)
  }
  return {
    rules: chainRulesFromGenesis(genesis),
    stateAt: ({ hash, number }) => ({
      key: hash,
      blockNumber: number,
      layers: [],
      read: async (reads) => reads.map(read),
    }),
  }
}
