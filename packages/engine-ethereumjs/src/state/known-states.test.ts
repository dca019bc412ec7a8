import type { Address, Hash } from '@upfront/protocol'
import type { StateRead } from '@upfront/simulation'
import { hash32 } from './bytes.js'
import { KnownStates } from './known-states.js'

const block = (number: number): Hash => hash32(BigInt(number))
const codeOf = (number: number): StateRead => ({
  kind: 'code',
  address: `0x${number.toString(16).padStart(40, '0')}` satisfies Address,
})
const CODE: Hash = `0x${'60'.repeat(1_000)}`

describe('KnownStates', () => {
  it('keeps kinds, accounts, slots and states apart', () => {
    const states = new KnownStates(100_000)
    const address: Address = `0x${'a1'.repeat(20)}`
    const reads: StateRead[] = [
      { kind: 'balance', address },
      { kind: 'nonce', address },
      { kind: 'code', address },
      { kind: 'storage', address, slot: block(1) },
      { kind: 'storage', address, slot: block(2) },
      { kind: 'blockHash', number: 1n },
      codeOf(1),
    ]
    states.keep(block(1), reads, [0n, 1n, '0x', block(3), block(4), block(5), '0x60'])
    expect(states.values(block(1), [...reads].reverse())).toEqual(['0x60', block(5), block(4), block(3), '0x', 1n, 0n])
    expect(states.values(block(2), reads)).toEqual(reads.map(() => undefined))
  })

  it('forgets the state that was used least recently, as a whole', () => {
    const states = new KnownStates(10_000)
    const isKnown = (number: number) => states.values(block(number), [codeOf(1)])[0] !== undefined
    for (const number of [0, 1, 2, 3]) states.keep(block(number), [codeOf(1)], [CODE])
    expect(isKnown(0)).toBe(true)
    states.keep(block(4), [codeOf(1)], [CODE])
    expect([0, 1, 2, 3, 4].map(isKnown)).toEqual([true, false, true, true, true])
  })

  it('keeps within its bound what one state holds', () => {
    const states = new KnownStates(10_000)
    for (let number = 0; number < 100; number++) states.keep(block(1), [codeOf(number)], [CODE])
    const all = Array.from({ length: 100 }, (_, number) => codeOf(number))
    const known = states.values(block(1), all).filter((value) => value !== undefined)
    expect(known.length * CODE.length).toBeLessThanOrEqual(10_000)
  })

  it('counts a value once, however often it is given', () => {
    const states = new KnownStates(10_000)
    for (let times = 0; times < 100; times++) states.keep(block(1), [codeOf(1)], [CODE])
    expect(states.values(block(1), [codeOf(1)])).toEqual([CODE])
  })
})
