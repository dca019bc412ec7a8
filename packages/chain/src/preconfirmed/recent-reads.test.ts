import type { StateRead } from '@upfront/simulation'
import { RecentReads } from './recent-reads.js'

const nonce = (byte: string): StateRead => ({ kind: 'nonce', address: `0x${byte.repeat(20)}` })

it('RecentReads keeps the newest reads, each once, without block hashes', () => {
  const recent = new RecentReads(2)
  recent.note([nonce('0a'), nonce('0b'), { kind: 'blockHash', number: 1n }])
  recent.note([nonce('0a'), nonce('0c')])
  expect(recent.all()).toEqual([nonce('0a'), nonce('0c')])
})
