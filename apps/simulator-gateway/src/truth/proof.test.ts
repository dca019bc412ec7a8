import type { ChangedFact, Explained } from './explanation.js'
import { type Found, proofOf } from './proof.js'
import type { Result } from './run.js'

const ADDRESS = `0x${'aa'.repeat(20)}` as const
const SLOT = `0x${'00'.repeat(31)}08` as const
const result = (gasUsed: bigint): Result => ({ succeeded: true, gasUsed, effects: { failed: false, moved: [] } })
const mined = result(40_000n)
const slot: ChangedFact = {
  fact: { kind: 'slot', address: ADDRESS, slot: SLOT },
  ...{ predicted: '0x1', found: '0x2', by: 'a block between' },
}
const balance: ChangedFact = { ...slot, fact: { kind: 'balance', address: ADDRESS }, found: '0x5' }
const time: ChangedFact = { fact: { kind: 'time' }, predicted: '0x5', found: '0x6', by: 'the block' }
const explained: Explained = { why: 'dependency', because: [slot, balance], changed: [slot, balance, time] }

/** @param isCause whether these overrides reproduce the mined outcome */
async function proof(isCause: (found: Found) => boolean): Promise<string> {
  return proofOf(explained, mined, async (found) => result(isCause(found) ? 40_000n : 50_000n))
}

describe('proofOf', () => {
  it('tries each fact alone, then all changed facts together', async () => {
    expect(await proof(({ stateOverrides }) => stateOverrides[ADDRESS]?.balance === '0x5')).toBe('alone')
    expect(await proof(({ blockOverrides }) => blockOverrides.time === '0x6')).toBe('together')
    expect(await proof(() => false)).toBe('neither')
  })

  it('overrides facts with the values found, and counts a refused run as no proof', async () => {
    const asked: Found[] = []
    const again = async (found: Found) => {
      asked.push(found)
      throw new Error('insufficient funds')
    }
    expect(await proofOf(explained, mined, again)).toBe('neither')
    const stateDiff = { [SLOT]: `0x${'00'.repeat(31)}02` }
    expect(asked).toEqual([
      { stateOverrides: { [ADDRESS]: { stateDiff } }, blockOverrides: {} },
      { stateOverrides: { [ADDRESS]: { balance: '0x5' } }, blockOverrides: {} },
      { stateOverrides: { [ADDRESS]: { stateDiff, balance: '0x5' } }, blockOverrides: { time: '0x6' } },
    ])
  })
})
