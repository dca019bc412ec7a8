import type { Address, Hash, Hex } from '@upfront/protocol'
import type { StateRead, StateValue } from '@upfront/simulation'
import { LRUCache } from 'lru-cache'
import type { Place } from './flight.js'

/** Bytes of an entry with what leads to it: map entries, string headers and the like. */
const ACCOUNT_ENTRY_BYTES = 160
const SLOT_ENTRY_BYTES = 230
const WORD_BYTES = 32
const SHARED_CODE_BYTES = 16 * 1024 * 1024

/** One value of a block's state: known, or under way, so that nobody asks twice. */
export interface Entry {
  value: StateValue | undefined
  place: Place | undefined
}

interface Account {
  balance: Entry | undefined
  nonce: Entry | undefined
  code: Entry | undefined
  slots: Map<Hash, Entry> | undefined
}

/** What is known of one pinned block's state. */
export class BlockCache {
  readonly #accounts = new Map<Address, Account>()
  readonly #blockHashes = new Map<bigint, Entry>()
  readonly #onGrowth: (cache: BlockCache, bytes: number) => void
  readonly #codes: LRUCache<Address, Hex>
  bytes = 0
  #evicted = false

  /** @param codes code that accounts were last seen with */
  constructor(onGrowth: (cache: BlockCache, bytes: number) => void, codes: LRUCache<Address, Hex>) {
    this.#onGrowth = onGrowth
    this.#codes = codes
  }

  get(read: StateRead): StateValue | undefined {
    return this.#find(read)?.value
  }

  /** The read's entry, made where it is new. */
  entry(read: StateRead): Entry {
    const found = this.#find(read)
    if (found !== undefined) return found
    const entry: Entry = { value: undefined, place: undefined }
    if (this.#evicted) return entry
    if (read.kind === 'blockHash') {
      this.#blockHashes.set(read.number, entry)
      this.#grow(ACCOUNT_ENTRY_BYTES)
      return entry
    }
    const account = this.#account(read.address)
    if (read.kind === 'storage') {
      account.slots ??= new Map()
      account.slots.set(read.slot, entry)
      this.#grow(SLOT_ENTRY_BYTES)
    } else {
      account[read.kind] = entry
      this.#grow(ACCOUNT_ENTRY_BYTES)
    }
    return entry
  }

  /** Keeps what was read for an entry. */
  keep(read: StateRead, entry: Entry, value: StateValue): void {
    if (this.#evicted) return
    const isNew = entry.value === undefined
    const isCode = read.kind === 'code' && value !== '0x'
    entry.value = isCode ? this.#shared(read.address, value as Hex) : value
    if (isNew) this.#grow(typeof value === 'string' ? value.length : WORD_BYTES)
  }

  /** From now on it holds nothing: whoever still reads the block asks the node. */
  evict(): void {
    this.#evicted = true
    this.#accounts.clear()
    this.#blockHashes.clear()
    this.bytes = 0
  }

  #find(read: StateRead): Entry | undefined {
    if (read.kind === 'blockHash') return this.#blockHashes.get(read.number)
    const account = this.#accounts.get(read.address)
    if (account === undefined) return undefined
    return read.kind === 'storage' ? account.slots?.get(read.slot) : account[read.kind]
  }

  #account(address: Address): Account {
    let account = this.#accounts.get(address)
    if (account === undefined) {
      account = { balance: undefined, nonce: undefined, code: undefined, slots: undefined }
      this.#accounts.set(address, account)
    }
    return account
  }

  /** Code hardly ever changes: blocks share it, instead of each holding a copy of its own. */
  #shared(address: Address, code: Hex): Hex {
    const known = this.#codes.get(address)
    if (known === code) return known
    this.#codes.set(address, code)
    return code
  }

  #grow(bytes: number): void {
    this.bytes += bytes
    this.#onGrowth(this, bytes)
  }
}

/** Caches of pinned blocks, together within `maxBytes`: the block that was used least recently goes first, as a whole. */
export class StateCache {
  readonly #blocks = new Map<Hash, BlockCache>()
  readonly #codes = new LRUCache<Address, Hex>({
    maxSize: SHARED_CODE_BYTES,
    sizeCalculation: (code, address) => code.length + address.length,
  })
  readonly #maxBytes: number
  #bytes = 0
  #newest: Hash | undefined

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes
  }

  /** The block's cache, made where it is new; from now on the most recently used. */
  at(key: Hash): BlockCache {
    let block = this.#blocks.get(key)
    if (block !== undefined && key === this.#newest) return block
    this.#newest = key
    if (block === undefined) block = new BlockCache((grown, bytes) => this.#grow(key, grown, bytes), this.#codes)
    else this.#blocks.delete(key)
    this.#blocks.set(key, block)
    return block
  }

  get bytes(): number {
    return this.#bytes
  }

  #grow(key: Hash, block: BlockCache, bytes: number): void {
    if (this.#blocks.get(key) !== block) return
    this.#bytes += bytes
    for (const [oldest, cache] of this.#blocks) {
      if (this.#bytes <= this.#maxBytes) return
      this.#bytes -= cache.bytes
      this.#blocks.delete(oldest)
      cache.evict()
    }
  }
}
