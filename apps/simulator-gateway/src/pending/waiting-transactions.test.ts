import type { ShownFact } from '@upfront/simulation'
import { WaitingTransactions } from './waiting-transactions.js'

const hash = (at: number) => `0x${at.toString(16).padStart(64, '0')}` as const
const slot = (at: number): ShownFact => ({ kind: 'slot', address: `0x${'aa'.repeat(20)}`, slot: hash(at) })
const valuesOf = (waiting: WaitingTransactions, ...facts: ShownFact[]) =>
  waiting.changing(facts).map(({ value }) => value)

describe('WaitingTransactions', () => {
  it('finds each waiting transaction that changes one of the facts once, until it is removed', () => {
    const waiting = new WaitingTransactions()
    waiting.add(hash(1), { value: 1n }, [slot(1), slot(2)])
    waiting.add(hash(2), { value: 2n }, [slot(2), { kind: 'balance', address: `0x${'aa'.repeat(20)}` }])
    expect(valuesOf(waiting, slot(1), slot(2))).toEqual([1n, 2n])
    expect(valuesOf(waiting, slot(3), { kind: 'time' })).toEqual([])
    waiting.remove(hash(1))
    expect(valuesOf(waiting, slot(1))).toEqual([])
    expect(valuesOf(waiting, slot(2))).toEqual([2n])
  })

  it('returns at most 8 transactions', () => {
    const waiting = new WaitingTransactions()
    for (let at = 0; at < 20; at += 1) waiting.add(hash(at), { value: BigInt(at) }, [slot(1)])
    expect(valuesOf(waiting, slot(1))).toHaveLength(8)
  })

  it('keeps the newest transactions within its memory limit and never one that exceeds it', () => {
    const waiting = new WaitingTransactions()
    const input = `0x${'00'.repeat(2 * 1024 * 1024)}` as const
    for (let at = 0; at < 20; at += 1) waiting.add(hash(at), { value: BigInt(at), input }, [slot(at)])
    const kept = Array.from({ length: 20 }, (_, at) => valuesOf(waiting, slot(at))).flat()
    expect(kept).toEqual([5n, 6n, 7n, 8n, 9n, 10n, 11n, 12n, 13n, 14n, 15n, 16n, 17n, 18n, 19n])
    const huge = `0x${'00'.repeat(32 * 1024 * 1024)}` as const
    waiting.add(hash(20), { value: 20n, input: huge }, [slot(20)])
    expect(valuesOf(waiting, slot(20))).toEqual([])
  })
})
