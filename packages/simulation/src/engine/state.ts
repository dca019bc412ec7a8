import type { Address, Hash, Hex } from '@upfront/protocol'

/** A read of one value. `blockHash`: of an ancestor at most 256 blocks before the pinned block. */
export type StateRead =
  | { kind: 'balance'; address: Address }
  | { kind: 'nonce'; address: Address }
  | { kind: 'code'; address: Address }
  | { kind: 'storage'; address: Address; slot: Hash }
  | { kind: 'blockHash'; number: bigint }

/** Identifies a read within one state. */
export function readKey(read: StateRead): string {
  switch (read.kind) {
    case 'balance':
      return `b${read.address}`
    case 'nonce':
      return `n${read.address}`
    case 'code':
      return `c${read.address}`
    case 'storage':
      return `s${read.address}${read.slot}`
    case 'blockHash':
      return `h${read.number}`
  }
}

/** `balance` and `nonce`: bigint; `code`: bytes; `storage` and `blockHash`: 32 bytes. */
export type StateValue = bigint | Hex

/** An immutable state that plans run on. */
export interface StatePoint {
  /** The pinned block's hash, or a digest of a pending block. Equal keys mean equal values below the layers. */
  readonly key: Hash
  /** Pre-confirmed state on top of the pinned block, oldest first; empty on canonical state. */
  readonly layers: readonly StateLayer[]
}

/** The changes of one executed flashblock. Never mutated, so engines may cache it by `id`. */
export interface StateLayer {
  /** Unique for its content within this process. */
  readonly id: string
  readonly accounts: ReadonlyMap<Address, AccountChange>
}

/** Absent fields are unchanged. */
export interface AccountChange {
  balance?: bigint
  nonce?: bigint
  code?: Hex
  /** The account was destroyed or recreated: slots missing in `storage` are zero, whatever older state says. */
  storageCleared: boolean
  storage: ReadonlyMap<Hash, Hash>
}
