import { RandomRequest } from '@upfront/engine-conformance'
import { createEthereumJsEngine } from '@upfront/engine-ethereumjs'
import { createRevmEngine, loadRevm } from '@upfront/engine-revm'
import { DEFAULT_SIMULATION_LIMITS, RpcError } from '@upfront/protocol'
import { type Engine, simulate } from '@upfront/simulation'
import { verify } from '../src/index.js'
import { GenesisState, sell, simulationOf } from './sale.js'

// `npm run test:receipts` runs this file on more.
const FIRST_SEED = Number(process.env.RECEIPT_SEED ?? 1)
const BILLS = Number(process.env.RECEIPT_BILLS ?? 50)
const MAX_FOUND = 5
const PROGRESS = 500
/** Bills under way at once: the portable engine works on threads of its own. */
const LANES = 3
/** Endless loops end sooner. */
const LIMITS = { ...DEFAULT_SIMULATION_LIMITS, gas: 2_000_000n }

const { reason } = loadRevm()
if (reason !== undefined) console.log(`the bills of the two engines are not compared: ${reason}`)
const describeNative = reason === undefined ? describe : describe.skip

describeNative('what one engine sold is verified by the other', () => {
  let revm: Engine
  let portable: Engine
  let state: GenesisState

  beforeAll(async () => {
    revm = createRevmEngine()
    portable = createEthereumJsEngine()
    state = await new GenesisState().fill()
  })
  afterAll(() => Promise.all([revm.close(), portable.close()]))

  it(`${BILLS} random requests, from seed ${FIRST_SEED} on`, async () => {
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

  /** What the verifier finds in the bill of this request; undefined where nothing. */
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

  /** The request without the parts for which it is refused: what is refused costs nothing, and has no bill. */
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
