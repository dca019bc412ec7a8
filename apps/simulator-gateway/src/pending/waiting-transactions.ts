import { Injectable } from '@nestjs/common'
import type { Call, Hash } from '@upfront/protocol'
import { type ShownFact, stateKey } from '@upfront/simulation'
import { LRUCache } from 'lru-cache'

interface Waiting {
  call: Call
  changes: readonly string[]
}

const MOST_KEPT = 4_096
/** Of all that are kept: one may hold as much as a node's pool takes. */
const MOST_KEPT_BYTES = 64 * 1024 * 1024
/** About what a call takes beside its input, an entry of its lists, and a place that it changes. */
const CALL_BYTES = 1_024
const ENTRY_BYTES = 256
const CHANGE_BYTES = 512
/** Of one transaction: more of what it changes is not looked for. */
const MOST_CHANGES = 128
/** Such as leave the node's pool without being mined. */
const TTL_MS = 10 * 60_000
/** That are tried before one request's calls. */
const MOST_TRIED = 8

/** Transactions that wait at the node, by what they would change: those that were predicted, see `TruthScore`. */
@Injectable()
export class WaitingTransactions {
  private readonly byPlace = new Map<string, Set<Hash>>()
  private readonly kept = new LRUCache<Hash, Waiting>({
    max: MOST_KEPT,
    maxSize: MOST_KEPT_BYTES,
    sizeCalculation: bytesOf,
    ttl: TTL_MS,
    dispose: (waiting, hash) => this.forget(hash, waiting),
  })

  /** @param changes what of the state it changes */
  add(hash: Hash, call: Call, changes: readonly ShownFact[]): void {
    const places = changes.slice(0, MOST_CHANGES).map(stateKey)
    this.kept.set(hash, { call, changes: places })
    // It alone may be more than is kept.
    if (!this.kept.has(hash)) return
    for (const place of places) {
      const hashes = this.byPlace.get(place) ?? new Set()
      this.byPlace.set(place, hashes.add(hash))
    }
  }

  /** It waits no longer. */
  remove(hash: Hash): void {
    this.kept.delete(hash)
  }

  /** Those that change any of these, the first that were seen. */
  changing(facts: readonly Pick<ShownFact, 'kind' | 'address' | 'slot'>[]): Call[] {
    const found = new Map<Hash, Call>()
    for (const fact of facts)
      for (const hash of this.byPlace.get(stateKey(fact)) ?? []) {
        const waiting = this.kept.get(hash)
        if (waiting !== undefined) found.set(hash, waiting.call)
        if (found.size === MOST_TRIED) return [...found.values()]
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
