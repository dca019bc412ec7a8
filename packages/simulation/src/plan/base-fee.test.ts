import fc from 'fast-check'
import { aHeader, ethereumRules, optimismRules } from '../../test/fixtures.js'
import type { BlockRules } from '../plan/chain-rules.js'
import { baseFeeParameters, nextBaseFee } from './base-fee.js'

const PRAGUE: BlockRules = { fork: 'prague' }
const ETHEREUM = { elasticity: 2n, denominator: 8n, minimum: 0n }
const parent = (baseFeePerGas: bigint, gasUsed: bigint, blobGasUsed = 0n) => ({
  baseFeePerGas,
  gasUsed,
  gasLimit: 20_000_000n,
  blobGasUsed,
})

describe('nextBaseFee', () => {
  it.each([
    ['at the target', 1000n, 10_000_000n, 1000n],
    ['full', 1000n, 20_000_000n, 1125n],
    ['empty', 1000n, 0n, 875n],
    ['a little above: at least 1 wei more', 1n, 10_000_001n, 2n],
    ['a little below', 1n, 9_999_999n, 1n],
    ['zero stays zero when empty', 0n, 0n, 0n],
  ])('follows EIP-1559: %s', (_name, fee, used, expected) => {
    expect(nextBaseFee(parent(fee, used), PRAGUE, ETHEREUM)).toBe(expected)
  })

  it('counts the DA footprint only from Jovian on', () => {
    const heavy = parent(1000n, 0n, 20_000_000n)
    expect(nextBaseFee(heavy, PRAGUE, ETHEREUM)).toBe(875n)
    expect(nextBaseFee(heavy, { fork: 'prague', opFork: 'isthmus' }, ETHEREUM)).toBe(875n)
    expect(nextBaseFee(heavy, { fork: 'prague', opFork: 'jovian' }, ETHEREUM)).toBe(1125n)
  })

  it('never falls below the minimum, nor rises by more than an eighth', () => {
    const fee = fc.bigInt(0n, 2n ** 100n)
    fc.assert(
      fc.property(fee, fc.bigInt(0n, 20_000_000n), fee, (before, used, minimum) => {
        const next = nextBaseFee(parent(before, used), PRAGUE, { ...ETHEREUM, minimum })
        expect(next).toBeGreaterThanOrEqual(minimum)
        if (next > minimum) expect(next - before).toBeLessThanOrEqual(before / 8n + 1n)
      }),
    )
  })

  it('does not divide by a gas limit of zero', () => {
    expect(nextBaseFee({ baseFeePerGas: 7n, gasLimit: 0n, gasUsed: 0n }, PRAGUE, ETHEREUM)).toBe(7n)
  })
})

describe('baseFeeParameters', () => {
  const holocene: BlockRules = { fork: 'cancun', opFork: 'holocene' }
  const jovian: BlockRules = { fork: 'prague', opFork: 'jovian' }
  const ofBase = (extraData: `0x${string}`, rules: BlockRules) =>
    baseFeeParameters(optimismRules(), aHeader({ extraData }), rules, rules)

  it('reads Holocene and Jovian extraData', () => {
    expect(ofBase('0x00000000fa00000006', holocene)).toEqual({ elasticity: 6n, denominator: 250n, minimum: 0n })
    expect(ofBase('0x01000000fa0000000600000000000f4240', jovian)).toEqual({
      elasticity: 6n,
      denominator: 250n,
      minimum: 1_000_000n,
    })
  })

  it('uses the configured parameters if the extraData has none', () => {
    const configured = { elasticity: 6n, denominator: 250n, minimum: 0n }
    for (const extraData of ['0x', '0x00', '0x000000000000000006', '0x02000000fa00000006'] as const) {
      expect(ofBase(extraData, holocene)).toEqual(configured)
    }
  })

  it('uses denominator 50 before Canyon and 250 from Canyon on', () => {
    expect(ofBase('0x', { fork: 'paris', opFork: 'regolith' }).denominator).toBe(50n)
    expect(ofBase('0x', { fork: 'shanghai', opFork: 'canyon' }).denominator).toBe(250n)
  })

  it('uses EIP-1559’s parameters on Ethereum, whatever the extraData', () => {
    expect(baseFeeParameters(ethereumRules(), aHeader({ extraData: '0x00000000fa00000006' }), PRAGUE, PRAGUE)).toEqual(
      ETHEREUM,
    )
  })
})
