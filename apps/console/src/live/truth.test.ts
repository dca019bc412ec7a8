import { missText, truthText } from './truth.js'

describe('truthText', () => {
  const day = { predicted: 5, judged: 4, hits: 4, explained: 0, misses: [] }

  it('shows how many predictions came true, and how many of the others are explained', () => {
    expect(truthText({ ...day, judged: 0, hits: 0 })).toBe('5 predictions today, none mined yet.')
    expect(truthText(day)).toBe('4 of 4 predictions came true today.')
    expect(truthText({ ...day, hits: 1, explained: 2 })).toBe(
      '1 of 4 predictions came true today; 2 of the other 3 explained.',
    )
  })
})

describe('missText', () => {
  const miss = { transaction: '0x01' as const, differs: ['gas' as const] }

  it('names the reason and the first changed fact of a miss', () => {
    const fact = { kind: 'slot', address: `0x${'ab'.repeat(20)}` as const }
    expect(missText({ ...miss, why: 'dependency', because: [{ fact, by: 'a transaction before' }] })).toBe(
      'a value that it depends on changed: slot of 0xabababab…, by a transaction before',
    )
    expect(missText({ ...miss, why: 'block', because: [{ fact: { kind: 'time' }, by: 'the block' }] })).toBe(
      'another block came than expected: time, by the block',
    )
    expect(missText({ ...miss, why: 'ours', because: [] })).toBe('our engine differs from the chain')
  })
})
