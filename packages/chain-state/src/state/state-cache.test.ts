import type { Address, Hash } from '@upfront/protocol'
import type { StateRead, StateValue } from '@upfront/simulation'
import { type BlockCache, StateCache } from './state-cache.js'

const block = (n: number): Hash => `0x${n.toString(16).padStart(64, '0')}`
const account = (n: number): Address => `0x${n.toString(16).padStart(40, '0')}`
const code: Hash = `0x${'60'.repeat(1_000)}`
const codeOf = (n: number): StateRead => ({ kind: 'code', address: account(n) })

function keep(cache: BlockCache, read: StateRead, value: StateValue): void {
  cache.keep(read, cache.entry(read), value)
}

describe('the cache of state', () => {
  it('keeps each kind of value apart, by account and slot', () => {
    const cache = new StateCache(1_000_000).at(block(1))
    const kinds = (address: Address): StateRead[] => [
      { kind: 'balance', address },
      { kind: 'nonce', address },
      { kind: 'code', address },
      { kind: 'storage', address, slot: block(1) },
      { kind: 'storage', address, slot: block(2) },
    ]
    const hashes: StateRead[] = [
      { kind: 'blockHash', number: 1n },
      { kind: 'blockHash', number: 2n },
    ]
    const reads = [...kinds(account(1)), ...kinds(account(2)), ...hashes]
    reads.forEach((read, i) => {
      expect(cache.get(read)).toBeUndefined()
      keep(cache, read, `0x${i}`)
    })
    expect(reads.map((read) => cache.get(read))).toEqual(reads.map((_, i) => `0x${i}`))
  })

  it('knows nothing of an entry that is only under way, and hands the same one to all', () => {
    const cache = new StateCache(1_000_000).at(block(1))
    const entry = cache.entry(codeOf(1))
    expect(cache.get(codeOf(1))).toBeUndefined()
    expect(cache.entry(codeOf(1))).toBe(entry)
    expect(cache.entry(codeOf(2))).not.toBe(entry)
  })

  it('forgets the block that was used least recently, as a whole', () => {
    const cache = new StateCache(10_000)
    for (let n = 0; n < 4; n += 1) keep(cache.at(block(n)), codeOf(1), code)
    cache.at(block(0))
    keep(cache.at(block(4)), codeOf(1), code)
    expect(cache.at(block(0)).get(codeOf(1))).toBe(code)
    expect(cache.at(block(1)).get(codeOf(1))).toBeUndefined()
    expect(cache.at(block(4)).get(codeOf(1))).toBe(code)
  })

  it('stays within its bounds, whatever one block holds', () => {
    const cache = new StateCache(50_000)
    for (let n = 0; n < 20; n += 1) for (let k = 0; k < 100; k += 1) keep(cache.at(block(n)), codeOf(k), code)
    expect(cache.bytes).toBeLessThanOrEqual(50_000)
    expect(cache.bytes).toBeGreaterThan(0)
  })

  it('counts what could not be read too: failures are not kept without bound', () => {
    const cache = new StateCache(50_000)
    for (let k = 0; k < 100; k += 1) cache.at(block(1)).entry({ kind: 'storage', address: account(k), slot: block(k) })
    expect(cache.bytes).toBeGreaterThanOrEqual(100 * 200)
    for (let k = 0; k < 10_000; k += 1) cache.at(block(1)).entry(codeOf(k))
    expect(cache.bytes).toBeLessThanOrEqual(50_000)
  })

  it('takes nothing more for a block that it forgot, so that memory stays bounded', () => {
    const cache = new StateCache(5_000)
    const forgotten = cache.at(block(1))
    for (let n = 2; n < 6; n += 1) keep(cache.at(block(n)), codeOf(1), code)
    for (let k = 0; k < 4; k += 1) keep(forgotten, codeOf(k), code)
    const kept = forgotten.bytes + cache.bytes
    expect(kept).toBeLessThanOrEqual(2 * 5_000)
    expect(forgotten.get(codeOf(0))).toBeUndefined()
    expect(cache.at(block(1)).get(codeOf(0))).toBeUndefined()
  })
})
