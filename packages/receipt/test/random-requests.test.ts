import { RandomRequest } from '@upfront/engine-conformance'
import { createEthereumJsEngine } from '@upfront/engine-ethereumjs'
import { createRevmEngine, loadRevm } from '@upfront/engine-revm'
import { RpcError } from '@upfront/protocol'
import type { Engine } from '@upfront/simulation'
import { verify } from '../src/index.js'
import { GenesisState, sell } from './sale.js'

// `npm run test:receipts` runs this file on more.
const FIRST_SEED = Number(process.env.RECEIPT_SEED ?? 1)
/** Most random requests are refused, and cost nothing. */
const BILLS = Number(process.env.RECEIPT_BILLS ?? 50)
const MAX_FOUND = 5

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
    let verified = 0
    for (let seed = FIRST_SEED; verified < BILLS && found.length < MAX_FOUND; seed++) {
      const payload = new RandomRequest(seed).payload()
      const [seller, verifier] = seed % 2 === 0 ? [revm, portable] : [portable, revm]
      const exchange = await sell(payload, seller, state).catch((error: unknown) => {
        // Refused requests cost nothing: there is no bill.
        if (error instanceof RpcError) return undefined
        throw error
      })
      if (exchange === undefined) continue
      const { calls, payment, isRight } = await verify(exchange, { engine: verifier })
      const checks = [...calls.flatMap((call) => call.checks), ...payment]
      if (isRight && checks.every(({ outcome }) => outcome === 'right')) verified += 1
      else found.push({ seed, seller: seller.name, wrong: checks.filter(({ outcome }) => outcome !== 'right') })
    }
    expect(found).toEqual([])
  }, 3_600_000)
})
