import type { Address, Hash, Hex } from '@upfront/protocol'

/** One value of the state. `blockHash` is the hash of an ancestor (at most 256 back) of the pinned block. */
export type StateRead =
  | { kind: 'balance'; address: Address }
  | { kind: 'nonce'; address: Address }
  | { kind: 'code'; address: Address }
  | { kind: 'storage'; address: Address; slot: Hash }
  | { kind: 'blockHash'; number: bigint }

/** What distinguishes a read among those of one state. */
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

/** By kind of read: `balance` and `nonce` bigint; `code` bytes; `storage` and `blockHash` 32 bytes. */
export type StateValue = bigint | Hex

/** A state that plans run on: immutable. */
export interface StatePoint {
  /** The pinned block's hash, or a digest of a pending block. Equal keys mean equal values below the layers. */
  readonly key: Hash
  /** Pre-confirmed state on top of the pinned block, oldest first; empty on canonical state. */
  readonly layers: readonly StateLayer[]
}

/** What one executed flashblock changed: never mutated once made, so an engine may keep it by `id`. */
export interface StateLayer {
  /** Unique for its content in this process. */
  readonly id: string
  readonly accounts: ReadonlyMap<Address, AccountChange>
}

/** Absent fields are unchanged. */
export interface AccountChange {
  balance?: bigint
  nonce?: bigint
  code?: Hex
  /** The account was destroyed or made anew: slots that `storage` lacks are zero, whatever lies below. */
  storageCleared: boolean
  storage: ReadonlyMap<Hash, Hash>
}
