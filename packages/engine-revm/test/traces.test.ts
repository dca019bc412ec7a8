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
  tracesOf,
} from '@upfront/engine-conformance'
import { createEthereumJsEngine } from '@upfront/engine-ethereumjs'
import type { Engine } from '@upfront/simulation'
import { createRevmEngine, loadRevm } from '../src/index.js'

// The long form is `npm run test:traces`: every call of every request, with every tracer, and thousands of random ones.
const FIRST_SEED = Number(process.env.FUZZ_SEED ?? 1)
const SEEDS = Number(process.env.TRACE_SEEDS ?? 20)
const IS_LONG = SEEDS > 100
const MAX_FOUND = Number(process.env.MAX_FOUND ?? 5)

/** Some programs loop: geth would log each turn. */
const MOST_STEP_BYTES = 500_000
/** Less than geth gives a call that names none: loops take it long. */
const GAS = '0x2dc6c0'

/** Each with the options of `debug_traceCall` for it; the struct logger has no name. */
const TRACERS: object[] = [
  { enableMemory: true, enableReturnData: true, limit: MOST_STEP_BYTES },
  { tracer: 'callTracer', tracerConfig: { withLog: true } },
  { tracer: 'callTracer', tracerConfig: { onlyTopCall: true } },
  { tracer: 'prestateTracer' },
  { tracer: 'prestateTracer', tracerConfig: { includeEmpty: true, disableCode: true } },
  { tracer: 'prestateTracer', tracerConfig: { diffMode: true } },
  { tracer: 'prestateTracer', tracerConfig: { diffMode: true, disableCode: true, disableStorage: true } },
  { tracer: '4byteTracer' },
  { tracer: 'erc7562Tracer', tracerConfig: { withLog: true } },
  { tracer: 'erc7562Tracer', tracerConfig: { ignoredOpcodes: [] } },
  { limit: 2_000 },
  { disableStack: true, disableStorage: true, limit: MOST_STEP_BYTES },
]
/** What halts is worded by these. */
const HALT_TRACERS = TRACERS.slice(0, 2)

const { reason } = loadRevm()
const geth = findGeth()
if (reason !== undefined) console.log(`traces are not compared: ${reason}`)
else if (geth === undefined) console.log('traces are not compared: geth is not installed')
const describeBoth = reason === undefined && geth !== undefined ? describe : describe.skip

interface Block {
  calls?: { to?: string }[]
  stateOverrides?: Record<string, object>
  blockOverrides?: object
}

/** A call, and what it runs on. */
interface Case {
  call: object
  stateOverrides: object
  blockOverrides: object
}

type Answers = Awaited<ReturnType<typeof tracesOf>>

describeBoth('revm and EthereumJS trace as geth does', () => {
  let engines: Record<string, Engine>
  let node: Geth

  beforeAll(async () => {
    engines = { revm: createRevmEngine(), EthereumJS: createEthereumJsEngine() }
    node = await startGeth(geth!)
  }, 60_000)

  afterAll(() => Promise.all([...Object.values(engines).map((engine) => engine.close()), node?.stop()]))

  async function differencesOf({ call, stateOverrides, blockOverrides }: Case, tracers: object[]): Promise<string[]> {
    const configs = tracers.map((tracer) => ({ ...tracer, stateOverrides, blockOverrides, timeout: '300s' }))
    const listParams = hasAccessListAsGeth(call, stateOverrides) ? [[call, 'latest', stateOverrides]] : []
    const theirs = await node.batch([
      ...configs.map((config) => ['debug_traceCall', [call, 'latest', config]] as const),
      ...listParams.map((params) => ['eth_createAccessList', params] as const),
    ])
    const made = Object.entries(engines).map(async ([name, engine]) => {
      const ours = await tracesOf(engine, call, configs, node.ground)
      for (const params of listParams) ours.push(await createdAccessListOf(engine, params, node.ground))
      return ours.flatMap((our, index) => {
        const [difference] = compared(theirs[index]!, our)
        const what = JSON.stringify(tracers[index] ?? 'access list')
        return difference === undefined ? [] : [`${name}, ${what} of ${JSON.stringify(call)}: ${difference}`]
      })
    })
    return (await Promise.all(made)).flat()
  }

  async function differencesIn(cases: Case[], tracers = TRACERS): Promise<string[]> {
    const found: string[] = []
    for (const one of cases) found.push(...(await differencesOf(one, tracers)))
    return found
  }

  it.each(Object.entries({ ...HANDMADE_REQUESTS, ...LOG_REQUESTS }))(
    'on %s',
    async (_name, payload) => {
      expect(await differencesIn(casesOf(payload))).toEqual([])
    },
    600_000,
  )

  it.each(Object.entries(HALT_REQUESTS))(
    'on %s',
    async (name, payload) => {
      const cases = casesOf(payload).map(aloneWithItsCode)
      const some = IS_LONG ? cases : cases.filter((_, index) => index % 6 === name.length % 6)
      expect(await differencesIn(some, IS_LONG ? TRACERS : HALT_TRACERS)).toEqual([])
    },
    600_000,
  )

  it(`on random calls, seeds ${FIRST_SEED} to ${FIRST_SEED + SEEDS - 1}`, async () => {
    const found: string[] = []
    let calls = 0
    for (let seed = FIRST_SEED; seed < FIRST_SEED + SEEDS && found.length < MAX_FOUND; seed++) {
      const cases = casesOf(new RandomRequest(seed).payload()).map(({ call, ...rest }) => ({
        call: { gas: GAS, ...call },
        ...rest,
      }))
      calls += cases.length
      for (const difference of await differencesIn(cases)) found.push(`seed ${seed}: ${difference}`)
    }
    if (IS_LONG) console.log(`${calls} calls of ${SEEDS} random requests were traced`)
    expect(found.slice(0, MAX_FOUND)).toEqual([])
  }, 36_000_000)
})

/** Every call of a request, each to run alone on the same state. */
function casesOf(payload: object): Case[] {
  return (payload as { blockStateCalls: Block[] }).blockStateCalls.flatMap(
    ({ calls = [], stateOverrides = {}, blockOverrides = {} }) => {
      const { withdrawals: _, beaconRoot: __, ...overrides } = blockOverrides as Record<string, unknown>
      return calls.map((call) => ({ call, stateOverrides, blockOverrides: overrides }))
    },
  )
}

/** Other calls' code is of no use to it, and slow to send. */
function aloneWithItsCode({ call, stateOverrides, blockOverrides }: Case): Case {
  const { to = '' } = call as { to?: string }
  return { call, stateOverrides: { [to]: (stateOverrides as Record<string, object>)[to] }, blockOverrides }
}

/** With a price geth fills in fees that are missing; precompiles it keeps here whatever overrides their accounts. */
function hasAccessListAsGeth(call: object, stateOverrides: object): boolean {
  const isPriced = /gasPrice|maxFee|maxPriority/i.test(JSON.stringify(call))
  return !isPriced && !/"0x0{36}[0-9a-f]{4}":{/.test(JSON.stringify(stateOverrides))
}

/** What geth refuses it refuses in words of its own, which name the transaction: that we refuse it too is enough. */
function compared(theirs: Answers[number], ours: Answers[number]): string[] {
  // geth 1.17.8 crashes where a call has blobs and the block before Cancun no blob fee.
  if (theirs.error && (ours.error || theirs.error.message.includes('crashed'))) return []
  return differences({ result: theirs.result }, { result: ours.result })
}
