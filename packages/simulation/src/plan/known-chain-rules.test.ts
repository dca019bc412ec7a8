import { knownChainRules } from './known-chain-rules.js'
import { rulesAt } from './rules-at.js'

function at(chainId: bigint, number: bigint, timestamp: bigint) {
  const rules = knownChainRules(chainId)
  if (rules === undefined) throw new Error('unknown')
  const found = rulesAt(rules, number, timestamp)
  return found && [found.opFork ?? found.fork, found.blob?.max]
}

describe('knownChainRules', () => {
  it('knows Ethereum mainnet through its blob forks', () => {
    expect(at(1n, 15_537_393n, 1_663_224_162n)).toBeUndefined()
    expect(at(1n, 15_537_394n, 1_663_224_179n)).toEqual(['paris', undefined])
    expect(at(1n, 22_431_084n, 1_746_612_311n)).toEqual(['prague', 9])
    expect(at(1n, 24_000_000n, 1_764_798_551n)).toEqual(['osaka', 9])
    expect(at(1n, 24_000_000n, 1_765_290_071n)).toEqual(['osaka', 15])
    expect(at(1n, 24_000_000n, 1_767_747_671n)).toEqual(['osaka', 21])
  })

  it('knows Base and OP Mainnet, whose forks after Jovian differ', () => {
    expect(at(8_453n, 0n, 1_764_691_200n)).toEqual(['isthmus', undefined])
    expect(at(8_453n, 0n, 1_764_691_201n)).toEqual(['jovian', undefined])
    expect(at(8_453n, 0n, 1_779_991_200n)).toEqual(['karst', undefined])
    expect(at(10n, 150_000_000n, 1_779_991_200n)).toEqual(['jovian', undefined])
    expect(at(10n, 150_000_000n, 1_783_526_401n)).toEqual(['karst', undefined])
    expect(knownChainRules(84_532n)?.opBaseFee?.elasticity).toBe(10n)
  })

  it('says what it can not do', () => {
    expect(knownChainRules(8_453n)?.caveats?.join()).toContain('B20')
    expect(knownChainRules(11_155_111n)?.unsupportedFrom).toEqual({ fork: 'amsterdam', timestamp: 1_791_294_816n })
    expect(knownChainRules(1n)).not.toHaveProperty('caveats')
  })

  it('knows no other', () => {
    for (const chainId of [0n, 1337n, 31_337n, 2n ** 64n + 1n]) expect(knownChainRules(chainId)).toBeUndefined()
  })
})
