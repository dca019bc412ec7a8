import type { PaymentOrigin } from '../../ledger/schema.js'
import { freeCapacities } from './signer-capacity.js'

const [first, second] = ['0x1', '0x2'] as const
const taken = (signer: `0x${string}`, origin: PaymentOrigin, count: number) => ({ signer, origin, count })

describe('freeCapacities', () => {
  it('gives own sellers all of a signer, and strangers half of it', () => {
    expect(freeCapacities('internal', [first], [], 16)).toEqual([taken(first, 'internal', 16)])
    expect(freeCapacities('facilitator', [first], [], 16)).toEqual([taken(first, 'facilitator', 8)])
  })

  it('keeps a half free of strangers', () => {
    const strangers = [taken(first, 'facilitator', 8)]
    expect(freeCapacities('internal', [first], strangers, 16)).toEqual([taken(first, 'internal', 8)])
    expect(freeCapacities('facilitator', [first], strangers, 16)).toEqual([])
  })

  it('counts own charges against strangers, and nothing against another signer', () => {
    const own = [taken(first, 'internal', 14), taken(second, 'internal', 17)]
    expect(freeCapacities('facilitator', [first, second], own, 16)).toEqual([taken(first, 'facilitator', 2)])
    expect(freeCapacities('internal', [first, second], own, 16)).toEqual([taken(first, 'internal', 2)])
  })
})
