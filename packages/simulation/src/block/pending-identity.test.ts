import { ZERO_HASH } from '@upfront/protocol'
import { pendingIdentity } from './pending-identity.js'

const sealedLike = { number: '0x2', parentHash: '0x01', stateRoot: '0x05', transactions: ['0x07'], timestamp: '0x10' }
const later = { timestamp: '0x11' }

describe('the identity of a pending block', () => {
  it('is that of its state, whatever its time', () => {
    expect(pendingIdentity({ ...sealedLike, ...later })).toBe(pendingIdentity(sealedLike))
    expect(pendingIdentity({ ...sealedLike, stateRoot: '0x06' })).not.toBe(pendingIdentity(sealedLike))
    expect(pendingIdentity({ ...sealedLike, parentHash: '0x02' })).not.toBe(pendingIdentity(sealedLike))
  })

  it('is all that the node says where there is no state root', () => {
    const rootless = { ...sealedLike, stateRoot: ZERO_HASH }
    expect(pendingIdentity({ ...rootless, ...later })).not.toBe(pendingIdentity(rootless))
    const empty = { ...rootless, transactions: [] }
    expect(pendingIdentity({ ...empty, ...later })).toBe(pendingIdentity(empty))
    expect(pendingIdentity(rootless)).not.toBe(pendingIdentity(empty))
  })

  it('is none of what is no block', () => {
    expect(() => pendingIdentity(null)).toThrow(expect.objectContaining({ kind: 'null' }))
  })
})
