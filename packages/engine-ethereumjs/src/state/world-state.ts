import type { StateManagerInterface } from '@ethereumjs/common'
import type { Account, Address as AddressBytes } from '@ethereumjs/util'
import type { Address, Hash, StateOverride } from '@upfront/protocol'
import { ZERO_HASH } from '@upfront/protocol'
import type { AccountChange, StateRead, StateValue } from '@upfront/simulation'
import { type AccountRecord, AccountView, delegationTarget, isEmpty, NOT_EXISTING } from './account-record.js'
import { bytesOf, EMPTY_BYTES, hexOf, uint64, uint256 } from './bytes.js'
import { changeOf, type Entry, slotBytes, slotHash, ZERO_SLOT } from './entry.js'

export type ReadState = (reads: StateRead[]) => Promise<StateValue[]>

/**
 * The state that one simulation sees and changes, as EthereumJS' state manager: read lazily, kept for the whole request,
 * undone frame by frame.
 */
export class WorldState implements StateManagerInterface {
  readonly #entries = new Map<Address, Entry>()
  readonly #undo: (() => void)[] = []
  readonly #checkpoints: number[] = []
  /** Slots as they stood when the running transaction began (EIP-2200). */
  readonly #originals = new Map<Address, Map<Hash, Uint8Array>>()
  /** Accounts as they stood when the running transaction began, of those that it changed. */
  readonly #originalRecords = new Map<Address, AccountRecord>()
  #touched = new Set<Address>()
  readonly #read: ReadState

  constructor(read: ReadState) {
    this.#read = read
  }

  /** Reads what is not known of this, in one batch. */
  async preload(accounts: Iterable<Address>, slots: Iterable<readonly [Address, Hash]>): Promise<void> {
    const addresses = [...new Set(accounts)].filter((address) => !this.#entry(address).record)
    const missingSlots = [...slots].filter(([address, slot]) => {
      const entry = this.#entry(address)
      return !entry.storageKnown && !entry.storage.has(slot)
    })
    const perAccount = addresses.map((address) => this.#missingFields(address))
    const reads = [
      ...perAccount.flat(),
      ...missingSlots.map(([address, slot]): StateRead => ({ kind: 'storage', address, slot })),
    ]
    if (reads.length === 0) return
    const values = await this.#read(reads)
    let next = 0
    addresses.forEach((address, index) => {
      const count = perAccount[index]!.length
      this.#fill(address, reads.slice(next, next + count), values.slice(next, next + count))
      next += count
    })
    for (const [address, slot] of missingSlots) {
      const { storage } = this.#entry(address)
      const value = values[next++]
      if (!storage.has(slot)) storage.set(slot, slotBytes(value))
    }
  }

  async account(address: Address): Promise<AccountRecord> {
    const known = this.#entry(address).record
    if (known) return known
    const reads = this.#missingFields(address)
    return this.#fill(address, reads, reads.length > 0 ? await this.#read(reads) : [])
  }

  async update(address: Address, change: Partial<Omit<AccountRecord, 'exists'>>): Promise<void> {
    this.#replace(address, { ...(await this.account(address)), ...change, exists: true })
    this.touch(address)
  }

  async addBalance(address: Address, amount: bigint): Promise<void> {
    const { balance } = await this.account(address)
    await this.update(address, { balance: uint256(balance + amount) })
  }

  /** As far as it was read or overridden. */
  isKnownToExist(address: Address): boolean {
    const { record, overridden } = this.#entry(address)
    return record?.exists ?? overridden !== undefined
  }

  remove(address: Address): void {
    const entry = this.#entry(address)
    const { record, removed, storage, storageKnown } = entry
    if (record && !this.#originalRecords.has(address)) this.#originalRecords.set(address, record)
    entry.record = NOT_EXISTING
    entry.removed = true
    entry.storage = new Map()
    entry.storageKnown = true
    this.#undo.push(() => Object.assign(entry, { record, removed, storage, storageKnown }))
  }

  touch(address: Address): void {
    if (this.#touched.has(address)) return
    this.#touched.add(address)
    this.#undo.push(() => this.#touched.delete(address))
  }

  /** Has `undo` run if the running frame reverts. */
  onRevert(undo: () => void): void {
    this.#undo.push(undo)
  }

  /** What the running transaction changed, reverted or not, as it was before. */
  beforeTransaction(): { accounts: Map<Address, AccountRecord>; slots: Map<Address, Map<Hash, Hash>> } {
    const slots = [...this.#originals].map(
      ([address, values]) => [address, new Map([...values].map(([slot, value]) => [slot, slotHash(value)]))] as const,
    )
    return { accounts: new Map(this.#originalRecords), slots: new Map(slots) }
  }

  /** A slot as it is now. */
  async slot(address: Address, slot: Hash): Promise<Hash> {
    return slotHash(await this.#storage(address, slot))
  }

  /** Only between transactions. An overridden account exists even when it is empty, as in geth. */
  override({ address, balance, nonce, code, state, stateDiff }: StateOverride): void {
    const entry = this.#entry(address)
    const fields = {
      ...(balance !== undefined && { balance }),
      ...(nonce !== undefined && { nonce }),
      ...(code !== undefined && { code: bytesOf(code) }),
    }
    const changesStorage = state !== undefined || stateDiff !== undefined
    if (Object.keys(fields).length === 0 && !changesStorage) return
    if (entry.record) entry.record = { ...entry.record, ...fields, exists: true }
    else entry.overridden = { ...entry.overridden, ...fields }
    if (state) {
      entry.storage = new Map()
      entry.storageKnown = true
    }
    for (const [slot, value] of state ?? stateDiff ?? []) entry.storage.set(slot, slotBytes(value))
  }

  /** Ends a transaction: removes accounts that self-destructed, and touched ones that are empty (EIP-161). */
  finalise(destroyed: Iterable<Address> = []): void {
    for (const address of destroyed) this.remove(address)
    for (const address of this.#touched) {
      const { record } = this.#entry(address)
      if (record?.exists && isEmpty(record)) this.remove(address)
    }
    this.#touched = new Set()
    this.#undo.length = 0
    this.#checkpoints.length = 0
    this.#originals.clear()
    this.#originalRecords.clear()
  }

  /** Everything that differs from what was read, by account. */
  changes(): Map<Address, AccountChange> {
    const changes = new Map<Address, AccountChange>()
    for (const [address, entry] of this.#entries) {
      const change = changeOf(entry)
      if (change) changes.set(address, change)
    }
    return changes
  }

  async getAccount(address: AddressBytes): Promise<Account | undefined> {
    const record = await this.account(hexOf(address.bytes))
    return record.exists ? new AccountView(record) : undefined
  }

  async putAccount(address: AddressBytes, account?: Account): Promise<void> {
    const key = hexOf(address.bytes)
    if (!account) return this.remove(key)
    const { code } = await this.account(key)
    this.#replace(key, { balance: uint256(account.balance), nonce: uint64(account.nonce), code, exists: true })
  }

  async deleteAccount(address: AddressBytes): Promise<void> {
    this.remove(hexOf(address.bytes))
  }

  async modifyAccountFields(address: AddressBytes, fields: { nonce?: bigint; balance?: bigint }): Promise<void> {
    const key = hexOf(address.bytes)
    const record = await this.account(key)
    this.#replace(key, {
      ...record,
      ...(fields.nonce !== undefined && { nonce: fields.nonce }),
      ...(fields.balance !== undefined && { balance: fields.balance }),
      exists: true,
    })
  }

  async putCode(address: AddressBytes, code: Uint8Array): Promise<void> {
    const key = hexOf(address.bytes)
    this.#replace(key, { ...(await this.account(key)), code: code.slice(), exists: true })
  }

  /**
   * EthereumJS asks only for the price of a call to a delegated account (EIP-7702). It takes any code that begins like a
   * designator for one: code of another length is hidden from it.
   */
  async getCode(address: AddressBytes): Promise<Uint8Array> {
    const { code } = await this.account(hexOf(address.bytes))
    return delegationTarget(code) ? code : EMPTY_BYTES
  }

  async getCodeSize(address: AddressBytes): Promise<number> {
    return (await this.account(hexOf(address.bytes))).code.length
  }

  async getStorage(address: AddressBytes, slot: Uint8Array): Promise<Uint8Array> {
    return this.#storage(hexOf(address.bytes), hexOf(slot))
  }

  async putStorage(address: AddressBytes, slot: Uint8Array, value: Uint8Array): Promise<void> {
    const key = hexOf(address.bytes)
    const slotKey = hexOf(slot)
    const previous = await this.#storage(key, slotKey)
    let originals = this.#originals.get(key)
    if (!originals) {
      originals = new Map()
      this.#originals.set(key, originals)
    }
    if (!originals.has(slotKey)) originals.set(slotKey, previous)
    const { storage, written } = this.#entry(key)
    written.add(slotKey)
    storage.set(slotKey, value)
    this.#undo.push(() => storage.set(slotKey, previous))
  }

  /** Nothing is cleared: geth keeps the storage that a new contract's address has. */
  async clearStorage(): Promise<void> {}

  readonly originalStorageCache = {
    get: async (address: AddressBytes, slot: Uint8Array): Promise<Uint8Array> => {
      const key = hexOf(address.bytes)
      const slotKey = hexOf(slot)
      return this.#originals.get(key)?.get(slotKey) ?? this.#storage(key, slotKey)
    },
    clear: () => this.#originals.clear(),
  }

  async checkpoint(): Promise<void> {
    this.#checkpoints.push(this.#undo.length)
  }

  async commit(): Promise<void> {
    this.#checkpoints.pop()
  }

  async revert(): Promise<void> {
    const mark = this.#checkpoints.pop() ?? 0
    while (this.#undo.length > mark) this.#undo.pop()!()
  }

  async getStateRoot(): Promise<Uint8Array> {
    return bytesOf(ZERO_HASH)
  }

  async setStateRoot(): Promise<void> {}

  async hasStateRoot(): Promise<boolean> {
    return false
  }

  clearCaches(): void {}

  shallowCopy(): WorldState {
    return this
  }

  #entry(address: Address): Entry {
    let entry = this.#entries.get(address)
    if (!entry) {
      entry = { written: new Set(), removed: false, storage: new Map(), storageKnown: false }
      this.#entries.set(address, entry)
    }
    return entry
  }

  #replace(address: Address, record: AccountRecord): void {
    const entry = this.#entry(address)
    const previous = entry.record
    if (previous && !this.#originalRecords.has(address)) this.#originalRecords.set(address, previous)
    entry.record = record
    this.#undo.push(() => Object.assign(entry, { record: previous }))
  }

  #missingFields(address: Address): StateRead[] {
    const known = this.#entry(address).overridden ?? {}
    const kinds = (['balance', 'nonce', 'code'] as const).filter((kind) => known[kind] === undefined)
    return kinds.map((kind) => ({ kind, address }))
  }

  #fill(address: Address, reads: StateRead[], values: StateValue[]): AccountRecord {
    const entry = this.#entry(address)
    const below: { balance?: bigint; nonce?: bigint; code?: Uint8Array } = {}
    reads.forEach(({ kind }, index) => {
      const value = values[index]
      if (kind === 'code') below.code = typeof value === 'string' ? bytesOf(value) : EMPTY_BYTES
      else if (kind === 'balance' || kind === 'nonce') below[kind] = BigInt(value ?? 0n)
    })
    const fields = { ...NOT_EXISTING, ...below, ...entry.overridden }
    const record = { ...fields, exists: entry.overridden !== undefined || !isEmpty(fields) }
    if (reads.length === 3 && isEmpty(fields)) entry.storageKnown = true
    entry.record = record
    entry.initial = record
    return record
  }

  async #storage(address: Address, slot: Hash): Promise<Uint8Array> {
    const entry = this.#entry(address)
    const known = entry.storage.get(slot)
    if (known) return known
    if (!entry.storageKnown && !entry.record) await this.account(address)
    if (entry.storageKnown) return ZERO_SLOT
    const [value] = await this.#read([{ kind: 'storage', address, slot }])
    const bytes = slotBytes(value)
    entry.storage.set(slot, bytes)
    return bytes
  }
}
