import type { FactKind } from '@upfront/simulation'
import { explanationOf, partsOf } from './explanation.js'
import type { FoundFact, Result, Run } from './run.js'

const ADDRESS = `0x${'aa'.repeat(20)}` as const
const result = (gasUsed = 50_000n, succeeded = true): Result => ({
  succeeded,
  gasUsed,
  effects: { failed: !succeeded, moved: [] },
})

const fact = (kind: FactKind, value: bigint, rest: Partial<FoundFact> = {}): FoundFact => ({
  fact: kind === 'slot' ? { kind, address: ADDRESS, slot: `0x${'00'.repeat(32)}` } : { kind },
  ...{ value, isNamed: true, price: undefined, isOfBlock: false },
  ...rest,
})

const run = (facts: FoundFact[], of = result()): Run => ({
  ...of,
  block: 7n,
  on: undefined,
  facts: new Map(facts.map((each) => [each.fact.kind, each])),
})

describe('partsOf', () => {
  it('names the parts that differ and marks a change of status', () => {
    expect(partsOf(result(), result())).toEqual({ differs: [] })
    expect(partsOf(result(), result(40_000n))).toEqual({ differs: ['gas'] })
    expect(partsOf(result(), result(40_000n, false))).toEqual({ differs: ['status', 'gas'], effect: 'fails' })
  })
})

describe('explanationOf', () => {
  const mined = result(40_000n)
  const why = (before: FoundFact[], after: FoundFact[], atPlace = mined) =>
    explanationOf(run(before), run(after, atPlace), mined)

  it('is "dependency" if a value changed, naming the transaction or block that changed it', () => {
    const after = fact('slot', 2n, { isOfBlock: true })
    const slot = { fact: after.fact, predicted: '0x1', found: '0x2', by: 'a transaction before' }
    const time = { fact: { kind: 'time' }, predicted: '0x5', found: '0x6', by: 'the block' }
    expect(why([fact('slot', 1n), fact('time', 5n)], [after, fact('time', 6n)])).toEqual({
      why: 'dependency',
      because: [slot],
      changed: [slot, time],
    })
  })

  it('is "block" if only a value of the block changed', () => {
    expect(why([fact('slot', 1n), fact('time', 5n)], [fact('slot', 1n), fact('time', 6n)])).toMatchObject({
      why: 'block',
      because: [{ fact: { kind: 'time' }, by: 'the block' }],
    })
  })

  it('is "rule" if the gas price of a slot write changed because the slot was empty before', () => {
    const before = fact('slot', 0n, { isNamed: false, price: 'zero to some' })
    const after = fact('slot', 5n, { isNamed: false, price: 'some to some' })
    expect(why([before], [after])).toMatchObject({ why: 'rule', because: [{ predicted: '0x0', found: '0x5' }] })
    // A different value alone does not change the price.
    expect(why([{ ...after, value: 4n }], [after])).toMatchObject({ why: 'unnamed', because: [] })
  })

  it('is "ours" if the run at the mined position differs from the chain', () => {
    expect(why([fact('slot', 1n)], [fact('slot', 2n)], result(39_999n))).toMatchObject({ why: 'ours', because: [] })
  })

  it('is "unnamed" if no fact found by both runs differs', () => {
    expect(why([fact('slot', 1n)], [fact('time', 1n)])).toMatchObject({ why: 'unnamed', because: [] })
  })
})
