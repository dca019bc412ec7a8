import { knownChainRules } from './known-chain-rules.js'
import { rulesAt } from './rules-at.js'

function at(chainId: bigint, number: bigint, timestamp: bigint) {
  const rules = knownChainRules(chainId)
  if (rules === undefined) throw new Error('unknown')
  const found = rulesAt(rules, number, timestamp)
  return found && [found.opFork ?? found.fork, found.blob?.max]
}

describe('knownChainRules', () => {
  it('knows the forks of Ethereum mainnet from Paris to its blob-parameter forks', () => {
    expect(at(1n, 15_537_393n, 1_663_224_162n)).toBeUndefined()
    expect(at(1n, 15_537_394n, 1_663_224_179n)).toEqual(['paris', undefined])
    expect(at(1n, 22_431_084n, 1_746_612_311n)).toEqual(['prague', 9])
    expect(at(1n, 24_000_000n, 1_764_798_551n)).toEqual(['osaka', 9])
    expect(at(1n, 24_000_000n, 1_765_290_071n)).toEqual(['osaka', 15])
    expect(at(1n, 24_000_000n, 1_767_747_671n)).toEqual(['osaka', 21])
  })

  it('knows when Amsterdam starts on Sepolia', () => {
    expect(at(11_155_111n, 9_000_000n, 1_791_294_815n)).toEqual(['osaka', 21])
    expect(at(11_155_111n, 9_000_000n, 1_791_294_816n)).toEqual(['amsterdam', 21])
  })

  it('knows Base and OP Mainnet, whose forks after Jovian differ', () => {
    expect(at(8_453n, 0n, 1_764_691_200n)).toEqual(['isthmus', undefined])
    expect(at(8_453n, 0n, 1_764_691_201n)).toEqual(['jovian', undefined])
    expect(at(8_453n, 0n, 1_779_991_200n)).toEqual(['azul', undefined])
    expect(at(10n, 150_000_000n, 1_779_991_200n)).toEqual(['jovian', undefined])
    expect(at(10n, 150_000_000n, 1_783_526_401n)).toEqual(['karst', undefined])
    expect(knownChainRules(84_532n)?.opBaseFee?.elasticity).toBe(10n)
  })

  it('has a caveat about B20 for Base, and none for Ethereum', () => {
    expect(knownChainRules(8_453n)?.caveats?.join()).toContain('B20')
    expect(knownChainRules(1n)).not.toHaveProperty('caveats')
  })

  it('returns undefined for other chains', () => {
    for (const chainId of [0n, 1337n, 31_337n, 2n ** 64n + 1n]) expect(knownChainRules(chainId)).toBeUndefined()
  })
})

describe.each([
  [
    8_453n,
    [1_764_691_201n, 'jovian'],
    [1_779_991_200n, 'azul'],
    [1_782_410_400n, 'beryl'],
    [1_790_791_200n, 'cobalt'],
    [1_793_901_600n, 'denim'],
  ],
  [
    84_532n,
    [1_763_568_001n, 'jovian'],
    [1_776_708_000n, 'azul'],
    [1_781_805_600n, 'beryl'],
    [1_790_186_400n, 'cobalt'],
    [1_792_605_600n, 'denim'],
  ],
  ...[10n, 57_073n, 1_868n, 130n, 7_777_777n, 34_443n, 1_135n, 1_750n, 624n, 183n].map((id) => [
    id,
    [1_764_691_201n, 'jovian'],
    [1_783_526_401n, 'karst'],
  ]),
  ...[11_155_420n, 763_373n, 1_301n, 1_946n, 999_999_999n, 919n, 4_202n, 1_740n].map((id) => [
    id,
    [1_763_568_001n, 'jovian'],
    [1_781_712_001n, 'karst'],
  ]),
] as [bigint, ...[bigint, string][]][])('forks of chain %s', (chainId, ...forks) => {
  it.each(forks)('the fork changes exactly at %s', (time, fork) => {
    const before = forks[forks.findIndex(([known]) => known === time) - 1]?.[1] ?? 'isthmus'
    const number = 200_000_000n
    expect([time - 1n, time, time + 1n].map((at) => rulesAt(knownChainRules(chainId)!, number, at)?.opFork)).toEqual([
      before,
      fork,
      fork,
    ])
  })
})

it('knownChainRules has each chain’s block time', () => {
  expect([10n, 57_073n, 130n, 763_373n].map((id) => knownChainRules(id)?.schedule)).toEqual([
    { blockTime: 2n },
    { blockTime: 1n },
    { blockTime: 1n },
    { blockTime: 1n },
  ])
  expect(knownChainRules(8_453n)?.schedule.subsecond).toMatchObject({ number: 53_556_127n, milliseconds: 200n })
})
