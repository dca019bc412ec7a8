import { ZERO_HASH } from '@upfront/protocol'
import { pendingIdentity } from './pending-identity.js'

const sealedLike = { number: '0x2', parentHash: '0x01', stateRoot: '0x05', transactions: ['0x07'], timestamp: '0x10' }
const later = { timestamp: '0x11' }

describe('pendingIdentity', () => {
  it('depends on the state root and the parent hash, not on the timestamp', () => {
    expect(pendingIdentity({ ...sealedLike, ...later })).toBe(pendingIdentity(sealedLike))
    expect(pendingIdentity({ ...sealedLike, stateRoot: '0x06' })).not.toBe(pendingIdentity(sealedLike))
    expect(pendingIdentity({ ...sealedLike, parentHash: '0x02' })).not.toBe(pendingIdentity(sealedLike))
  })

  it('depends on the timestamp if the state root is zero, unless the block is empty', () => {
    const rootless = { ...sealedLike, stateRoot: ZERO_HASH }
    expect(pendingIdentity({ ...rootless, ...later })).not.toBe(pendingIdentity(rootless))
    const empty = { ...rootless, transactions: [] }
    expect(pendingIdentity({ ...empty, ...later })).toBe(pendingIdentity(empty))
    expect(pendingIdentity(rootless)).not.toBe(pendingIdentity(empty))
  })

  it('throws if the node answers null', () => {
    expect(() => pendingIdentity(null)).toThrow(expect.objectContaining({ kind: 'null' }))
  })
})
