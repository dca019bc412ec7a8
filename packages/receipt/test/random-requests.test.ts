import { RandomRequest, RandomToken, randomNumbers } from '@upfront/engine-conformance'
import { createPortableEngine, createRevmEngine, loadRevm } from '@upfront/engine-revm'
import { DEFAULT_SIMULATION_LIMITS, RpcError } from '@upfront/protocol'
import { type Engine, simulate } from '@upfront/simulation'
import { type SignedReceipt, verify } from '../src/index.js'
import { GenesisState, sell, simulationOf } from './sale.js'

// `npm run test:receipts` uses more.
const FIRST_SEED = Number(process.env.RECEIPT_SEED ?? 1)
const BILLS = Number(process.env.RECEIPT_BILLS ?? 17)
const MAX_FOUND = 5
const PROGRESS = 500
/** Concurrent bills: both builds run on their own threads. */
const LANES = 3
/** Ends endless loops sooner. */
const LIMITS = { ...DEFAULT_SIMULATION_LIMITS, gas: 2_000_000n }
/** Token views that burn all of their gas get 500,000 each. */
const WIDE = { ...DEFAULT_SIMULATION_LIMITS, gas: 100_000_000n }
const DETAILS = [
  { assetChanges: true },
  { trace: { tracer: 'prestateTracer' }, stateDiff: true },
  { trace: true, accessLists: true, assetChanges: true },
  { gasLimits: true },
  { trace: { tracer: 'structLogger' } },
  { depends: true, outcome: true, guard: true },
]

const { reason } = loadRevm()
if (reason !== undefined) console.log(`the bills of the two builds are not compared: ${reason}`)
const describeNative = reason === undefined ? describe : describe.skip

describeNative('a bill from one build is right for the other', () => {
  let revm: Engine
  let portable: Engine
  let state: GenesisState

  beforeAll(async () => {
    revm = createRevmEngine()
    portable = createPortableEngine()
    state = await new GenesisState().fill()
  })
  afterAll(() => Promise.all([revm.close(), portable.close()]))

  it('with traces, state, access lists, gas limits and token views', async () => {
    const found: unknown[] = []
    const furtherGas = new Set<bigint>()
    for (let seed = FIRST_SEED; seed < FIRST_SEED + Math.ceil(BILLS / 10); seed++) {
      const random = randomNumbers(seed)
      const tokens = Array.from({ length: 2 }, (_, index) => new RandomToken(index, random))
      const stateOverrides = Object.fromEntries(tokens.map((token) => [token.address, token.override]))
      const calls = tokens.flatMap((token) => token.calls.slice(0, 3).map(({ call }) => call))
      const details = DETAILS[seed % DETAILS.length]!
      for (const [seller, verifier] of [
        [revm, portable],
        [portable, revm],
      ] as const) {
        const bill = await sell({ blockStateCalls: [{ stateOverrides, calls }] }, seller, state, WIDE, details)
        const { receipt } = bill.answer as { receipt: SignedReceipt }
        furtherGas.add(BigInt(receipt.usage.gas.at(-2)!))
        const { calls: checked } = await verify(bill, { engine: verifier })
        const wrong = checked.flatMap(({ checks }) => checks).filter(({ outcome }) => outcome !== 'right')
        if (wrong.length > 0) found.push({ seed, seller: seller.name, wrong })
      }
    }
    expect(found).toEqual([])
    expect(furtherGas.size).toBeGreaterThan(1)
  }, 7_200_000)

  it(`for ${BILLS} random requests from seed ${FIRST_SEED}`, async () => {
    const found: unknown[] = []
    let seed = FIRST_SEED
    let verified = 0
    const lane = async () => {
      while (seed < FIRST_SEED + BILLS && found.length < MAX_FOUND) {
        const own = seed++
        const wrong = await difference(own)
        if (wrong !== undefined) found.push({ seed: own, ...wrong })
        else if (++verified % PROGRESS === 0) process.stderr.write(`${verified} of ${BILLS} bills verified\n`)
      }
    }
    await Promise.all(Array.from({ length: LANES }, lane))
    expect(found).toEqual([])
    expect(verified).toBe(BILLS)
  }, 7_200_000)

  /** The checks of this request's bill that are not right; `undefined` if all are. */
  async function difference(seed: number): Promise<object | undefined> {
    const payload = await servable(new RandomRequest(seed).payload() as Payload)
    const [seller, verifier] = seed % 2 === 0 ? [revm, portable] : [portable, revm]
    try {
      const { calls, payment } = await verify(await sell(payload, seller, state, LIMITS), { engine: verifier })
      const wrong = [...calls.flatMap((call) => call.checks), ...payment].filter(({ outcome }) => outcome !== 'right')
      return wrong.length === 0 ? undefined : { seller: seller.name, wrong }
    } catch (error) {
      return { seller: seller.name, error }
    }
  }

  /** The request without the parts for which it is refused: a refused request has no bill. */
  async function servable(payload: Payload): Promise<Payload> {
    for (;;) {
      try {
        await simulate(simulationOf(payload, revm, LIMITS))
        return payload
      } catch (error) {
        const [, block, call] = /^blockStateCalls\[(\d+)\](?:\.calls\[(\d+)\])?/.exec((error as Error).message) ?? []
        const refused = payload.blockStateCalls[Number(block)]
        if (!(error instanceof RpcError) || refused === undefined) throw error
        if (call !== undefined) refused.calls.splice(Number(call), 1)
        else if (refused.stateOverrides !== undefined) delete refused.stateOverrides
        else payload.blockStateCalls.splice(Number(block), 1)
      }
    }
  }
})

interface Payload {
  blockStateCalls: { calls: object[]; stateOverrides?: object; blockOverrides?: object }[]
}
