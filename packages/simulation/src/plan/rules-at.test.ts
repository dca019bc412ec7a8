import fc from 'fast-check'
import { ethereumRules, optimismRules } from '../../test/fixtures.js'
import { rulesAt } from './rules-at.js'

const ethereum = ethereumRules({
  forks: [
    { fork: 'paris', block: 5n },
    { fork: 'shanghai', timestamp: 10n },
    { fork: 'cancun', timestamp: 20n },
    { fork: 'prague', timestamp: 20n },
  ],
  blobSchedule: [
    { timestamp: 20n, parameters: { target: 3, max: 6, baseFeeUpdateFraction: 1n } },
    { timestamp: 25n, parameters: { target: 6, max: 9, baseFeeUpdateFraction: 2n } },
  ],
})
const optimism = optimismRules({
  forks: [
    { fork: 'bedrock', block: 0n },
    { fork: 'canyon', timestamp: 10n },
    { fork: 'ecotone', timestamp: 20n },
  ],
})

describe('rulesAt', () => {
  it.each([
    [4n, 9n, undefined],
    [5n, 9n, { fork: 'paris' }],
    [5n, 10n, { fork: 'shanghai' }],
    [9n, 19n, { fork: 'shanghai' }],
    [9n, 24n, { fork: 'prague', blob: ethereum.blobSchedule[0]?.parameters }],
    [9n, 25n, { fork: 'prague', blob: ethereum.blobSchedule[1]?.parameters }],
  ])('returns the rules of block %s at time %s', (number, timestamp, rules) => {
    expect(rulesAt(ethereum, number, timestamp)).toEqual(rules)
  })

  it('returns the same rules whatever was asked before', () => {
    const block = fc.record({
      chain: fc.constantFrom(ethereum, optimism),
      number: fc.bigInt(0n, 8n),
      timestamp: fc.bigInt(0n, 30n),
    })
    fc.assert(
      fc.property(fc.array(block, { maxLength: 40 }), (blocks) => {
        for (const { chain, number, timestamp } of blocks) {
          expect(rulesAt(chain, number, timestamp)).toEqual(rulesAt({ ...chain }, number, timestamp))
        }
      }),
    )
  })

  it('returns the same object for blocks between two changes', () => {
    expect(rulesAt(ethereum, 6n, 26n)).toBe(rulesAt(ethereum, 7n, 29n))
  })
})
