import type { Hash } from '@upfront/protocol'
import { StateCache } from './state-cache.js'

const block = (n: number): Hash => `0x${n.toString(16).padStart(64, '0')}`
const code: Hash = `0x${'60'.repeat(1_000)}`

describe('the cache of state', () => {
  it('forgets the block that was used least recently, as a whole', () => {
    const cache = new StateCache(10_000)
    for (let n = 0; n < 4; n += 1) cache.at(block(n)).set('c', code)
    cache.at(block(0))
    cache.at(block(4)).set('c', code)
    expect(cache.at(block(0)).get('c')).toBe(code)
    expect(cache.at(block(1)).get('c')).toBeUndefined()
    expect(cache.at(block(4)).get('c')).toBe(code)
  })

  it('stays within its bounds, whatever one block holds', () => {
    const cache = new StateCache(50_000)
    for (let n = 0; n < 20; n += 1) for (let k = 0; k < 100; k += 1) cache.at(block(n)).set(`c${k}`, code)
    expect(cache.bytes).toBeLessThanOrEqual(50_000)
  })

  it('takes nothing more for a block that it forgot, so that memory stays bounded', () => {
    const cache = new StateCache(5_000)
    const forgotten = cache.at(block(1))
    for (let n = 2; n < 6; n += 1) cache.at(block(n)).set('c', code)
    for (let k = 0; k < 4; k += 1) forgotten.set(`c${k}`, code)
    const kept = forgotten.bytes + cache.bytes
    expect(kept).toBeLessThanOrEqual(2 * 5_000)
    expect(cache.at(block(1)).get('c0')).toBeUndefined()
  })
})
