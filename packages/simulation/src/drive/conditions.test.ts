import type { BlockHeader } from '@upfront/protocol'
import { type CallRecord, type DecidingFact, REACHED } from '../engine/call-record.js'
import { knownChainRules } from '../plan/known-chain-rules.js'
import { conditionsFor, type Simulated } from './conditions.js'

/** A request with one block whose outcome these facts decide. */
function withFacts(
  facts: Partial<DecidingFact>[],
  base: Partial<BlockHeader> = {},
  isSameLater = false,
  unsupportedFrom = 1_000n,
) {
  const simulation = {
    base: { number: 7n, timestamp: 100n, ...base },
    rules: { ...knownChainRules(1n)!, unsupportedFrom: { fork: 'next', timestamp: unsupportedFrom } },
    state: { layers: [] },
    request: { validation: false, blockStateCalls: [{ calls: [], stateOverrides: [], blockOverrides: {} }] },
  }
  const decided = facts.map((fact) => ({ value: 0n, reached: REACHED.branch, changed: 0, blocks: 0, ...fact }))
  const simulated = {
    simulation,
    blocks: [{ number: 8n, timestamp: 112n }],
    records: [{ dependencies: { facts: decided, isPartial: false, isSameLater } } as Partial<CallRecord>],
    isForAll: false,
  } as unknown as Simulated
  return { simulated, together: conditionsFor(simulated).together }
}

/** The overrides of its first block a minute later. */
async function later(...asked: Parameters<typeof withFacts>) {
  const { simulated, together } = withFacts(...asked)
  const changed = await together.find(({ under }) => under.endsWith('later'))?.apply(simulated.simulation)
  return changed?.request.blockStateCalls[0]?.blockOverrides
}

describe('conditionsFor: a minute later', () => {
  it('keeps the block number if no fact depends on the number of blocks', async () => {
    const slot = { kind: 'slot', address: `0x${'1'.repeat(40)}` } as const
    expect(await later([{ kind: 'time' }, slot])).toEqual({ number: 8n, timestamp: 172n })
  })

  it('adds two blocks if a fact or override depends on the block number', async () => {
    const history = { kind: 'slot', address: '0x0000f90827f1c53a10cb7a02335b175320002935' } as const
    for (const fact of [
      history,
      ...(['number', 'blockHash', 'baseFee', 'blobBaseFee'] as const).map((kind) => ({ kind })),
    ])
      expect(await later([{ kind: 'time' }, fact])).toEqual({ number: 10n, timestamp: 172n })
    expect(await later([{ kind: 'time' }], { slotNumber: 3n })).toEqual({ number: 10n, timestamp: 172n })
  })

  it('is left out if isSameLater is set, unless other conditions or other fork rules apply', async () => {
    const names = (...asked: Parameters<typeof withFacts>) => withFacts(...asked).together.map(({ under }) => under)
    const minute = '60 s and 2 blocks later'
    expect(names([{ kind: 'time' }])).toEqual([minute])
    expect(names([{ kind: 'time' }], {}, true)).toEqual([])
    expect(names([{ kind: 'time' }, { kind: 'prevRandao' }], {}, true)).toEqual(['another prevRandao', minute])
    expect(names([{ kind: 'time' }, { kind: 'number' }], {}, true)).toEqual([minute])
    // Other rules apply at that time.
    expect(names([{ kind: 'time' }], {}, true, 150n)).toEqual([minute])
  })
})
