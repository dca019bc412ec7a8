import type { ShownFact } from '@upfront/simulation'
import { WaitingTransactions } from './waiting-transactions.js'

const hash = (at: number) => `0x${at.toString(16).padStart(64, '0')}` as const
const slot = (at: number): ShownFact => ({ kind: 'slot', address: `0x${'aa'.repeat(20)}`, slot: hash(at) })
const valuesOf = (waiting: WaitingTransactions, ...facts: ShownFact[]) =>
  waiting.changing(facts).calls.map(({ value }) => value)

describe('WaitingTransactions', () => {
  it('finds those that change a fact, each once, until they wait no longer', () => {
    const waiting = new WaitingTransactions()
    waiting.add(hash(1), { value: 1n }, [slot(1), slot(2)])
    waiting.add(hash(2), { value: 2n }, [slot(2), { kind: 'balance', address: `0x${'aa'.repeat(20)}` }])
    expect(valuesOf(waiting, slot(1), slot(2))).toEqual([1n, 2n])
    expect(valuesOf(waiting, slot(3), { kind: 'time' })).toEqual([])
    waiting.remove(hash(1))
    expect(valuesOf(waiting, slot(1))).toEqual([])
    expect(valuesOf(waiting, slot(2))).toEqual([2n])
  })

  it('gives few of many', () => {
    const waiting = new WaitingTransactions()
    for (let at = 0; at < 20; at += 1) waiting.add(hash(at), { value: BigInt(at) }, [slot(1)])
    expect(valuesOf(waiting, slot(1))).toHaveLength(8)
  })
})
