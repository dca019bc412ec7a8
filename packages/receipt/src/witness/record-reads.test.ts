import { developmentState, NEVER, RICH } from '@upfront/engine-conformance'
import { createPortableEngine } from '@upfront/engine-revm'
import { type Address, DEFAULT_SIMULATION_LIMITS, decodeSimulationRequest, ZERO_HASH } from '@upfront/protocol'
import { pinnedState, ReadBudget } from '@upfront/simulation'
import { ReadingDriver } from './reading-driver.js'
import { type RecordedReads, recordReads } from './record-reads.js'

const EMPTY: Address = `0x${'e1'.repeat(20)}`
const LOADS_SLOT_ZERO = '0x600054'
const callTo = (to: Address) => ({ from: RICH, to })

const engine = createPortableEngine({ threads: 1 })
afterAll(() => engine.close())

async function record(blockStateCalls: object[]): Promise<RecordedReads> {
  const { rules, base, state } = developmentState()
  const simulation = {
    request: decodeSimulationRequest([{ blockStateCalls }, 'latest'], DEFAULT_SIMULATION_LIMITS),
    base,
    state: pinnedState({ header: base, key: base.hash }),
    rules,
    driver: new ReadingDriver(engine, (reads) => state.read(reads)),
    limits: DEFAULT_SIMULATION_LIMITS,
    budget: new ReadBudget(Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY),
    cancellation: NEVER,
    dialect: 'ethereum' as const,
  }
  return recordReads(simulation, engine, (reads) => state.read(reads))
}

const slotZero = [{ kind: 'storage', address: EMPTY, slot: ZERO_HASH }, ZERO_HASH]

it('records a touched slot that the engine knew without a read', async () => {
  const request = [
    { calls: [callTo(EMPTY)] },
    { stateOverrides: { [EMPTY]: { code: LOADS_SLOT_ZERO } }, calls: [callTo(EMPTY)] },
  ]
  // The engine's speculative reads depend on what it ran before.
  await record(request)
  const { values, touched } = await record(request)
  expect(touched.slots).toEqual([{ address: EMPTY, slot: ZERO_HASH }])
  expect(values).toContainEqual(slotZero)
})

it.each(['state', 'stateDiff'])('records no slot that an override of the first block sets by %s', async (kind) => {
  const set = { [kind]: { [ZERO_HASH]: `0x${'17'.repeat(32)}` } }
  const { values, touched } = await record([
    { stateOverrides: { [EMPTY]: { code: LOADS_SLOT_ZERO, ...set } }, calls: [callTo(EMPTY)] },
  ])
  expect(touched.slots).toEqual([{ address: EMPTY, slot: ZERO_HASH }])
  expect(values.map(([read]) => read.kind)).not.toContain('storage')
})
