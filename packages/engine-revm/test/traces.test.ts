import {
  createdAccessListOf,
  differences,
  findGeth,
  type Geth,
  HALT_REQUESTS,
  HANDMADE_REQUESTS,
  LOG_REQUESTS,
  RandomRequest,
  startGeth,
  traceOf,
} from '@upfront/engine-conformance'
import { createEthereumJsEngine } from '@upfront/engine-ethereumjs'
import type { Engine } from '@upfront/simulation'
import { createRevmEngine, loadRevm } from '../src/index.js'

const FIRST_SEED = Number(process.env.FUZZ_SEED ?? 1)
const SEEDS = Number(process.env.FUZZ_SEEDS ?? 20)
const MAX_FOUND = Number(process.env.MAX_FOUND ?? 5)

const TRACERS: [string, object][] = [
  ['callTracer', { withLog: true }],
  ['callTracer', { onlyTopCall: true }],
  ['prestateTracer', {}],
  ['prestateTracer', { includeEmpty: true, disableCode: true }],
  ['prestateTracer', { diffMode: true }],
  ['prestateTracer', { diffMode: true, disableCode: true, disableStorage: true }],
  ['4byteTracer', {}],
]

const { reason } = loadRevm()
const geth = findGeth()
if (reason !== undefined) console.log(`traces are not compared: ${reason}`)
else if (geth === undefined) console.log('traces are not compared: geth is not installed')
const describeBoth = reason === undefined && geth !== undefined ? describe : describe.skip

interface Block {
  calls?: object[]
  stateOverrides?: object
  blockOverrides?: object
}

describeBoth('revm and EthereumJS trace as geth does', () => {
  let engines: Record<string, Engine>
  let node: Geth

  beforeAll(async () => {
    engines = { revm: createRevmEngine(), EthereumJS: createEthereumJsEngine() }
    node = await startGeth(geth!)
  }, 60_000)

  afterAll(() => Promise.all([...Object.values(engines).map((engine) => engine.close()), node?.stop()]))

  /** Every call of a request, each alone on the same state. */
  async function differencesIn(payload: object): Promise<string[]> {
    const found: string[] = []
    for (const { calls = [], stateOverrides = {}, blockOverrides = {} } of (payload as { blockStateCalls: Block[] })
      .blockStateCalls) {
      const { withdrawals: _, beaconRoot: __, ...overrides } = blockOverrides as Record<string, unknown>
      for (const call of calls) {
        for (const [tracer, tracerConfig] of TRACERS) {
          const config = { tracer, tracerConfig, stateOverrides, blockOverrides: overrides }
          const params = [call, 'latest', config]
          const theirs = await node.call('debug_traceCall', params)
          for (const [name, engine] of Object.entries(engines)) {
            const ours = await traceOf(engine, params, node.ground)
            const [difference] = compared(theirs, ours)
            if (difference !== undefined)
              found.push(`${name}, ${tracer} ${JSON.stringify(tracerConfig)} of ${JSON.stringify(call)}: ${difference}`)
          }
        }
        // With a price geth fills in fees that are missing; precompiles it keeps here whatever overrides their accounts.
        if (
          /gasPrice|maxFee|maxPriority/i.test(JSON.stringify(call)) ||
          /"0x0{36}[0-9a-f]{4}":{/.test(JSON.stringify(stateOverrides))
        )
          continue
        const params = [call, 'latest', stateOverrides]
        const theirs = await node.call('eth_createAccessList', params)
        for (const [name, engine] of Object.entries(engines)) {
          const [difference] = compared(theirs, await createdAccessListOf(engine, params, node.ground))
          if (difference !== undefined) found.push(`${name}, access list of ${JSON.stringify(call)}: ${difference}`)
        }
      }
    }
    return found
  }

  it.each(Object.entries({ ...HANDMADE_REQUESTS, ...LOG_REQUESTS, ...HALT_REQUESTS }))(
    'on %s',
    async (_name, payload) => {
      expect(await differencesIn(payload)).toEqual([])
    },
    60_000,
  )

  it(`on random calls, seeds ${FIRST_SEED} to ${FIRST_SEED + SEEDS - 1}`, async () => {
    const found: string[] = []
    for (let seed = FIRST_SEED; seed < FIRST_SEED + SEEDS && found.length < MAX_FOUND; seed++)
      for (const difference of await differencesIn(new RandomRequest(seed).payload()))
        found.push(`seed ${seed}: ${difference}`)
    expect(found.slice(0, MAX_FOUND)).toEqual([])
  }, 3_600_000)
})

/** What geth refuses it refuses in words of its own, which name the transaction: that we refuse it too is enough. */
function compared(theirs: Awaited<ReturnType<typeof traceOf>>, ours: Awaited<ReturnType<typeof traceOf>>): string[] {
  // geth 1.17.8 crashes where a call has blobs and the block before Cancun no blob fee.
  if (theirs.error && (ours.error || theirs.error.message.includes('crashed'))) return []
  return differences({ result: theirs.result }, { result: ours.result })
}
