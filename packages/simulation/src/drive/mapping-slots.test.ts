import type { Address, Hash } from '@upfront/protocol'
import { keccak256 } from 'viem'
import type { SimulationPlan } from '../plan/simulation-plan.js'
import { MappingSlots } from './mapping-slots.js'

const address = (number: number): Address => `0x${number.toString(16).padStart(40, '0')}`
const slotOf = (key: Address, position: number): Hash =>
  keccak256(`0x${key.slice(2).padStart(64, '0')}${position.toString(16).padStart(64, '0')}`)
const [router, token, alice, bob] = [address(1), address(2), address(3), address(4)] as [
  Address,
  Address,
  Address,
  Address,
]
const planOf = (from: Address, to: Address | null = router) =>
  ({ blocks: [{ calls: [{ from, to }] }] }) as unknown as SimulationPlan
const storage = (contract: Address, slot: Hash) => ({ kind: 'storage', address: contract, slot }) as const
const always = () => true

describe('MappingSlots', () => {
  it('expects of a new sender what another read in a mapping', () => {
    const slots = new MappingSlots()
    expect(slots.predict(planOf(bob), always)).toEqual([])
    slots.learn(planOf(alice), [{ kind: 'nonce', address: alice }, storage(token, slotOf(alice, 9))])
    slots.learn(planOf(alice), [storage(token, slotOf(alice, 9))])
    expect(slots.predict(planOf(bob), always)).toEqual([storage(token, slotOf(bob, 9))])
  })

  it('expects nothing of senders that are known, of other contracts, or of slots that are no mapping by sender', () => {
    const slots = new MappingSlots()
    slots.learn(planOf(alice), [storage(token, slotOf(bob, 1)), storage(token, slotOf(alice, 400))])
    expect(slots.predict(planOf(bob), always)).toEqual([])
    slots.learn(planOf(alice), [storage(token, slotOf(alice, 1))])
    expect(slots.predict(planOf(bob), () => false)).toEqual([])
    expect(slots.predict(planOf(bob, token), always)).toEqual([])
    expect(slots.predict(planOf(bob, null), always)).toEqual([])
  })

  it('stops looking where a contract reads by other keys', () => {
    const slots = new MappingSlots()
    const others = Array.from({ length: 100 }, (_, number) => storage(token, slotOf(address(1_000 + number), 0)))
    slots.learn(planOf(alice), others)
    slots.learn(planOf(alice), [storage(token, slotOf(alice, 0))])
    expect(slots.predict(planOf(bob), always)).toEqual([])
  })
})
