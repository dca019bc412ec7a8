import fs from 'node:fs'
import path from 'node:path'
import { type BlockHeader, blockHeaderFromRpc, type Hash, type Hex, ZERO_HASH } from '@upfront/protocol'
import {
  type ChainRules,
  chainRulesFromGenesis,
  type StateRead,
  type StateSource,
  type StateValue,
} from '@upfront/simulation'

interface RecordedAccount {
  balance: Hex
  nonce: Hex
  code?: Hex
  storage?: Record<Hash, Hash>
}

/** A chain of recorded headers with the state of its head, as an engine's caller would hand it over. */
export interface RecordedChain {
  rules: ChainRules
  headers: BlockHeader[]
  stateAt(header: BlockHeader): StateSource
}

export function readRecordedChain(folder: string): RecordedChain {
  const file = (name: string) => JSON.parse(fs.readFileSync(path.join(folder, name), 'utf8'))
  const accounts: Record<Hex, RecordedAccount> = file('head-state.json')
  const headers: BlockHeader[] = file('blocks.json').map(blockHeaderFromRpc)
  const read = (wanted: StateRead): StateValue => {
    if (wanted.kind === 'blockHash') return headers[Number(wanted.number)]!.hash
    const account = accounts[wanted.address]
    if (wanted.kind === 'storage') return account?.storage?.[wanted.slot] ?? ZERO_HASH
    if (wanted.kind === 'code') return account?.code ?? '0x'
    return BigInt(account?.[wanted.kind] ?? 0)
  }
  return {
    rules: chainRulesFromGenesis(file('genesis.json')),
    headers,
    stateAt: ({ hash, number }) => ({
      key: hash,
      blockNumber: number,
      layers: [],
      read: async (reads) => reads.map(read),
    }),
  }
}
