import { Injectable } from '@nestjs/common'
import type { Call, Hash } from '@upfront/protocol'
import { type ShownFact, stateKey } from '@upfront/simulation'
import { LRUCache } from 'lru-cache'

interface Waiting {
  call: Call
  changes: readonly string[]
}

const MAX_KEPT = 4_096
/** Limit of all kept transactions together: a single one may be as large as a node's pool accepts. */
const MAX_KEPT_BYTES = 64 * 1024 * 1024
/** Approximate bytes of a call without its input, of a list entry, and of a place that it changes. */
const CALL_BYTES = 1_024
const ENTRY_BYTES = 256
const CHANGE_BYTES = 512
/** Further changes of a transaction are ignored. */
const MAX_CHANGES = 128
/** For transactions that leave the node's pool without being mined. */
const TTL_MS = 10 * 60_000
/** Most transactions tried before the calls of one request. */
const MAX_TRIED = 8

/** Pending transactions by the state that they would change: those that `TruthScore` has simulated. */
@Injectable()
export class WaitingTransactions {
  private readonly byPlace = new Map<string, Set<Hash>>()
  private readonly kept = new LRUCache<Hash, Waiting>({
    max: MAX_KEPT,
    maxSize: MAX_KEPT_BYTES,
    sizeCalculation: bytesOf,
    ttl: TTL_MS,
    dispose: (waiting, hash) => this.forget(hash, waiting),
  })

  /** @param changes the state that it changes */
  add(hash: Hash, call: Call, changes: readonly ShownFact[]): void {
    const places = changes.slice(0, MAX_CHANGES).map(stateKey)
    this.kept.set(hash, { call, changes: places })
    // A single transaction may exceed the cache's limit.
    if (!this.kept.has(hash)) return
    for (const place of places) {
      const hashes = this.byPlace.get(place) ?? new Set()
      this.byPlace.set(place, hashes.add(hash))
    }
  }

  /** The transaction is no longer pending. */
  remove(hash: Hash): void {
    this.kept.delete(hash)
  }

  /** The transactions that change any of these places, those seen first per place, at most `MAX_TRIED`. */
  changing(facts: readonly Pick<ShownFact, 'kind' | 'address' | 'slot'>[]): Call[] {
    const found = new Map<Hash, Call>()
    for (const fact of facts)
      for (const hash of this.byPlace.get(stateKey(fact)) ?? []) {
        const waiting = this.kept.get(hash)
        if (waiting !== undefined) found.set(hash, waiting.call)
        if (found.size === MAX_TRIED) return [...found.values()]
      }
    return [...found.values()]
  }

  private forget(hash: Hash, { changes }: Waiting): void {
    for (const place of changes) {
      const hashes = this.byPlace.get(place)
      hashes?.delete(hash)
      if (hashes?.size === 0) this.byPlace.delete(place)
    }
  }
}

function bytesOf({ call, changes }: Waiting): number {
  const { input = '0x', accessList = [], blobVersionedHashes = [], authorizationList = [] } = call
  const entries = accessList.reduce((sum, { storageKeys }) => sum + 1 + storageKeys.length, 0)
  const lists = entries + blobVersionedHashes.length + authorizationList.length
  return CALL_BYTES + input.length + ENTRY_BYTES * lists + CHANGE_BYTES * changes.length
}
