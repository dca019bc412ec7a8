import { Account, KECCAK256_NULL } from '@ethereumjs/util'
import { keccak_256 } from '@noble/hashes/sha3.js'
import type { Address } from '@upfront/protocol'
import { EMPTY_BYTES, hexOf } from './bytes.js'

/** An account. Immutable: a change makes a new one. */
export interface AccountRecord {
  readonly balance: bigint
  readonly nonce: bigint
  readonly code: Uint8Array
  /** As geth has it: until the transaction that touched it ends, an empty account can exist (EIP-161). */
  readonly exists: boolean
}

/** EIP-2681 */
export const MAX_NONCE = (1n << 64n) - 1n
export const NOT_EXISTING: AccountRecord = { balance: 0n, nonce: 0n, code: EMPTY_BYTES, exists: false }
const hashes = new WeakMap<Uint8Array, Uint8Array>()

export function codeHash(code: Uint8Array): Uint8Array {
  if (code.length === 0) return KECCAK256_NULL
  let hash = hashes.get(code)
  if (!hash) {
    hash = keccak_256(code)
    hashes.set(code, hash)
  }
  return hash
}

/** A record as EthereumJS sees it. Code is hashed when its hash is first asked for. */
export class AccountView extends Account {
  constructor(private readonly record: AccountRecord) {
    super(record.nonce, record.balance)
  }
  override get codeHash(): Uint8Array {
    return codeHash(this.record.code)
  }
  override isContract(): boolean {
    return this.record.code.length > 0
  }
  override isEmpty(): boolean {
    return this.balance === 0n && this.nonce === 0n && this.record.code.length === 0
  }
}

export function isEmpty(record: AccountRecord): boolean {
  return record.balance === 0n && record.nonce === 0n && record.code.length === 0
}

/** EIP-7702: the account that `code` delegates to. */
export function delegationTarget(code: Uint8Array): Address | undefined {
  if (code.length !== 23 || code[0] !== 0xef || code[1] !== 0x01 || code[2] !== 0x00) return undefined
  return hexOf(code.subarray(3))
}
