import type { BlockHeader } from '@upfront/protocol'
import { type CallRecord, type DecidingFact, REACHED } from '../engine/call-record.js'
import { conditionsFor, type Simulated } from './conditions.js'

/** The first block of the request a minute later, where these facts decide. */
async function later(facts: Partial<DecidingFact>[], base: Partial<BlockHeader> = {}) {
  const simulation = {
    base: { number: 7n, timestamp: 100n, ...base },
    state: { layers: [] },
    request: { validation: false, blockStateCalls: [{ calls: [], stateOverrides: [], blockOverrides: {} }] },
  }
  const decided = facts.map((fact) => ({ value: 0n, reached: REACHED.branch, changed: 0, blocks: 0, ...fact }))
  const simulated = {
    simulation,
    blocks: [{ number: 8n, timestamp: 112n }],
    records: [{ dependencies: { facts: decided, isPartial: false } } as Partial<CallRecord>],
    isForAll: false,
  } as unknown as Simulated
  const minute = conditionsFor(simulated).together.find(({ under }) => under.endsWith('later'))
  const changed = await minute?.applied(simulated.simulation)
  return changed?.request.blockStateCalls[0]?.blockOverrides
}

describe('a minute later', () => {
  it('has no blocks between where nothing hangs on how many there are', async () => {
    const slot = { kind: 'slot', address: `0x${'1'.repeat(40)}` } as const
    expect(await later([{ kind: 'time' }, slot])).toEqual({ number: 8n, timestamp: 172n })
  })

  it('is two blocks on where something does', async () => {
    const history = { kind: 'slot', address: '0x0000f90827f1c53a10cb7a02335b175320002935' } as const
    for (const fact of [
      history,
      ...(['number', 'blockHash', 'baseFee', 'blobBaseFee'] as const).map((kind) => ({ kind })),
    ])
      expect(await later([{ kind: 'time' }, fact])).toEqual({ number: 10n, timestamp: 172n })
    expect(await later([{ kind: 'time' }], { slotNumber: 3n })).toEqual({ number: 10n, timestamp: 172n })
  })
})
