import {
  amsterdamChain,
  createdAccessListOf,
  differences,
  findGeth,
  type Geth,
  HALT_REQUESTS,
  HANDMADE_REQUESTS,
  inOurWords,
  LOG_REQUESTS,
  RandomRequest,
  RecordedChain,
  recordedExchanges,
  startGeth,
  tracesOf,
} from '@upfront/engine-conformance'
import type { Engine } from '@upfront/simulation'
import { BUILDS } from './builds.js'

// The long form is `npm run test:traces`: every call of every request with every tracer, and thousands of random ones.
const FIRST_SEED = Number(process.env.FUZZ_SEED ?? 1)
const SEEDS = Number(process.env.TRACE_SEEDS ?? 7)
const IS_LONG = SEEDS > 100
const MAX_FOUND = Number(process.env.MAX_FOUND ?? 5)

/** Limit of steps: some programs loop, and geth would log each iteration. */
const MAX_STEP_BYTES = 500_000
/** Concurrent requests: geth and the portable build run in parallel with this thread. */
const LANES = 4
/** Less than geth's default, because loops take it long. */
const GAS = '0x7a120'

/** Each with its `debug_traceCall` options. The struct logger has no name. */
const TRACERS: object[] = [
  { enableMemory: true, enableReturnData: true, limit: MAX_STEP_BYTES },
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
  { disableStack: true, disableStorage: true, limit: MAX_STEP_BYTES },
]
/** One of each kind. The call runs once for all of them. */
const SOME_TRACERS = [10, 1, 3, 5, 8].map((index) => TRACERS[index]!)
/** Slow to send and compare: in the short form, one tracer of each kind. */
const LONG_REQUESTS = ['recursion to the depth limit', 'recursion with transfers', 'a megabyte returned']
/** These tracers show why a call halted. */
const HALT_TRACERS = TRACERS.slice(0, 2)

const geth = findGeth()
if (geth === undefined) console.log('traces are not compared: geth is not installed')
const describeBoth = geth === undefined ? describe.skip : describe

interface Block {
  calls?: { to?: string }[]
  stateOverrides?: Record<string, object>
  blockOverrides?: object
}

interface Payload {
  blockStateCalls?: Block[]
}

/** A call with its overrides. */
interface Case {
  call: object
  stateOverrides: object
  blockOverrides: object
}

type Answers = Awaited<ReturnType<typeof tracesOf>>

describeBoth('debug_traceCall and eth_createAccessList answer like geth', () => {
  let engines: Engine[]
  let node: Geth
  let ofAmsterdam: Geth

  beforeAll(async () => {
    engines = BUILDS.map(([, create]) => create())
    node = await startGeth(geth!)
    ofAmsterdam = await startGeth(geth!, amsterdamChain(0))
  })

  afterAll(() => Promise.all([...engines.map((engine) => engine.close()), node?.stop(), ofAmsterdam?.stop()]))

  async function differencesOf(
    { call, stateOverrides, blockOverrides }: Case,
    tracers: object[],
    node: Geth,
  ): Promise<string[]> {
    const configs = tracers.map((tracer) => ({ ...tracer, stateOverrides, blockOverrides, timeout: '300s' }))
    const listParams = hasAccessListAsGeth(call, stateOverrides) ? [[call, 'latest', stateOverrides]] : []
    const theirs = await node.batch([
      ...configs.map((config) => ['debug_traceCall', [call, 'latest', config]] as const),
      ...listParams.map((params) => ['eth_createAccessList', params] as const),
    ])
    const made = engines.map(async (engine) => {
      const ours = await tracesOf(engine, call, configs, node.baseState)
      for (const params of listParams) ours.push(await createdAccessListOf(engine, params, node.baseState))
      return ours.flatMap((our, index) => {
        const [difference] = comparedUnlessUnpaid(theirs[index]!, our)
        const what = JSON.stringify(tracers[index] ?? 'access list')
        return difference === undefined ? [] : [`${engine.name}, ${what} of ${JSON.stringify(call)}: ${difference}`]
      })
    })
    return (await Promise.all(made)).flat()
  }

  async function differencesIn(cases: Case[], tracers = TRACERS, on = node): Promise<string[]> {
    const found: string[] = []
    for (const one of cases) found.push(...(await differencesOf(one, tracers, on)))
    return found
  }

  it.each(Object.entries({ ...HANDMADE_REQUESTS, ...LOG_REQUESTS }))(
    'for the handwritten request: %s',
    async (name, payload) => {
      const tracers = IS_LONG || !LONG_REQUESTS.includes(name) ? TRACERS : SOME_TRACERS
      expect(await differencesIn(casesOf(payload), tracers)).toEqual([])
    },
    600_000,
  )

  it.each(Object.entries(HALT_REQUESTS))(
    'for halting calls: %s',
    async (name, payload) => {
      expect(await differencesIn(haltsOf(name, payload), IS_LONG ? TRACERS : HALT_TRACERS)).toEqual([])
    },
    600_000,
  )

  it('for reverted new state, storage without enough gas, and EIP-8024 opcodes, under Amsterdam', async () => {
    for (const name of ['new state that is taken back', 'storage that is cleared for more gas than there is'])
      expect(await differencesIn(casesOf(HANDMADE_REQUESTS[name]!), TRACERS, ofAmsterdam)).toEqual([])
    const byNumber = haltsOf('words by number', HALT_REQUESTS['words by number']!)
    expect(await differencesIn(byNumber, HALT_TRACERS, ofAmsterdam)).toEqual([])
  }, 600_000)

  it('for calls of the recorded requests, at the head of the recorded chain', async () => {
    const recorded = new RecordedChain('conformance')
    const there = await startGeth(geth!, recorded.headAsGenesis())
    try {
      const { result } = await there.call('eth_getBlockByNumber', ['latest', false])
      // The recorded state is complete, with nothing extra.
      expect((result as { stateRoot: string }).stateRoot).toBe(recorded.headers.at(-1)!.stateRoot)
      const found: string[] = []
      let calls = 0
      const exchanges = recordedExchanges('conformance').filter((_, index) => IS_LONG || index % 9 === 0)
      for (const { name, params } of exchanges) {
        const all = casesOf(withOverridesBefore((params as [Payload])[0])).map(withGas)
        const cases = IS_LONG ? all : all.filter(isShort).slice(0, 2)
        calls += cases.length
        for (const difference of await differencesIn(cases, IS_LONG ? TRACERS : SOME_TRACERS, there))
          found.push(`${name}: ${difference}`)
      }
      expect(found).toEqual([])
      expect(calls).toBeGreaterThan(exchanges.length)
    } finally {
      await there.stop()
    }
  }, 600_000)

  it.each([
    ['', () => node],
    [' of Amsterdam', () => ofAmsterdam],
  ])(
    `for random calls%s, seeds ${FIRST_SEED} to ${FIRST_SEED + SEEDS - 1}`,
    async (_chain, there) => {
      const found: string[] = []
      let calls = 0
      let next = FIRST_SEED
      const lane = async () => {
        while (next < FIRST_SEED + SEEDS && found.length < MAX_FOUND) {
          const seed = next++
          const cases = casesOf(new RandomRequest(seed).payload()).map(withGas)
          calls += cases.length
          const wrong = await differencesIn(cases, TRACERS, there())
          found.push(...wrong.map((difference) => `seed ${seed}: ${difference}`))
          if (IS_LONG && (wrong.length > 0 || seed % 100 === 0))
            process.stderr.write(`${calls} calls, seed ${seed}: ${wrong.join('; ') || 'no difference'}\n`)
        }
      }
      await Promise.all(Array.from({ length: LANES }, lane))
      if (IS_LONG) console.log(`${calls} calls of ${SEEDS} random requests were traced`)
      expect(found.slice(0, MAX_FOUND)).toEqual([])
    },
    36_000_000,
  )
})

/** Each block with the state overrides of all earlier blocks. */
function withOverridesBefore({ blockStateCalls = [] }: Payload): Payload {
  let overrides = {}
  return {
    blockStateCalls: blockStateCalls.map((block) => {
      overrides = { ...overrides, ...block.stateOverrides }
      return { ...block, stateOverrides: overrides }
    }),
  }
}

/** Every call of a request, to run separately on the same state. */
function casesOf(payload: object): Case[] {
  return (payload as { blockStateCalls: Block[] }).blockStateCalls.flatMap(
    ({ calls = [], stateOverrides = {}, blockOverrides = {} }) => {
      const { withdrawals: _, beaconRoot: __, ...overrides } = blockOverrides as Record<string, unknown>
      return calls.map((call) => ({ call, stateOverrides, blockOverrides: overrides }))
    },
  )
}

/** Enough gas for a call that does not loop. */
function withGas({ call, ...rest }: Case): Case {
  return { call: { gas: GAS, ...call }, ...rest }
}

/** Whether the call can't loop for long. */
function isShort({ call }: Case): boolean {
  return BigInt((call as { gas?: string }).gas ?? 0) <= 1_000_000n
}

/** In the short form, one in six of a request's many halting calls. */
function haltsOf(name: string, payload: object): Case[] {
  const cases = casesOf(payload).map(aloneWithItsCode)
  return IS_LONG ? cases : cases.filter((_, index) => index % 6 === name.length % 6)
}

/** Leaves out other accounts' code, which the call does not use and which is slow to send. */
function aloneWithItsCode({ call, stateOverrides, blockOverrides }: Case): Case {
  const { to = '' } = call as { to?: string }
  return { call, stateOverrides: { [to]: (stateOverrides as Record<string, object>)[to] }, blockOverrides }
}

/** False for calls with a price (geth fills in fees) or overridden precompile addresses (geth keeps their precompiles). */
function hasAccessListAsGeth(call: object, stateOverrides: object): boolean {
  const isPriced = /gasPrice|maxFee|maxPriority/i.test(JSON.stringify(call))
  return !isPriced && !/"0x0{36}[0-9a-f]{4}":{/.test(JSON.stringify(stateOverrides))
}

/**
 * Compares answers except the messages (`inOurWords`) and costs of instructions that run out of gas or stack. If a CREATE can't pay state
 * gas (EIP-8037), geth's step has no error.
 */
function comparedUnlessUnpaid(theirs: Answers[number], ours: Answers[number]): string[] {
  const their = inOurWords(theirs.result, ours.result) as Traced | undefined
  const our = ours.result as Traced | undefined
  for (const [index, step] of (their?.structLogs ?? []).entries()) {
    const { error, gasCost } = our?.structLogs?.[index] ?? {}
    if (error === 'out of gas' && step.error === undefined && /^CREATE2?$/.test(step.op)) step.error = error
    if (error === step.error && /^(out of gas|stack underflow)/.test(error ?? '')) Object.assign(step, { gasCost })
  }
  return compared({ ...theirs, result: their }, ours)
}

type Step = { op: string; depth: number; gasCost?: number; error?: string }
type Traced = { structLogs?: Step[] }

/** If geth refuses, it is enough that we refuse too: its messages name the transaction. */
function compared(theirs: Answers[number], ours: Answers[number]): string[] {
  // geth 1.17.8 crashes on a call with blobs if a block before Cancun has no blob fee.
  if (theirs.error && (ours.error || /crashed/.test(theirs.error.message))) return []
  return differences({ result: theirs.result }, { result: ours.result })
}
