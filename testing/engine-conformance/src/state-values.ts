import { type Address, type Hash, type Hex, ZERO_HASH } from '@upfront/protocol'
import type { StateRead, StateValue } from '@upfront/simulation'

/** An account as in genesis files and recorded states; absent values are zero or empty. */
export interface RecordedAccount {
  balance?: Hex
  nonce?: Hex
  code?: Hex
  storage?: Record<Hash, Hash>
}

/** A state in memory that records reads. */
export class StateValues {
  /** One entry per step, in order. */
  readonly batches: (readonly StateRead[])[] = []
  readonly #valueAt: (read: StateRead) => StateValue

  constructor(valueAt: (read: StateRead) => StateValue) {
    this.#valueAt = valueAt
  }

  get reads(): StateRead[] {
    return this.batches.flat()
  }

  read(reads: readonly StateRead[]): StateValue[] {
    this.batches.push(reads)
    return reads.map(this.#valueAt)
  }
}

/** @param accounts by lower-case address, with or without 0x @param hashOf hash of an ancestor */
export function valueOfAccounts(
  accounts: Readonly<Record<string, RecordedAccount>>,
  hashOf: (number: bigint) => Hash | undefined = () => undefined,
): (read: StateRead) => StateValue {
  const accountOf = (address: Address) => accounts[address] ?? accounts[address.slice(2)]
  return (read) => {
    switch (read.kind) {
      case 'blockHash':
        return hashOf(read.number) ?? ZERO_HASH
      case 'storage':
        return accountOf(read.address)?.storage?.[read.slot] ?? ZERO_HASH
      case 'code':
        return accountOf(read.address)?.code ?? '0x'
      default:
        return BigInt(accountOf(read.address)?.[read.kind] ?? 0)
    }
  }
}
