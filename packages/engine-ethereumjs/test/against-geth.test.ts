import {
  answerOf,
  differencesFromNode,
  findGeth,
  type Geth,
  HALT_REQUESTS,
  HANDMADE_REQUESTS,
  LOG_REQUESTS,
  RandomRequest,
  startGeth,
} from '@upfront/engine-conformance'
import type { Engine } from '@upfront/simulation'
import { createEthereumJsEngine } from '../src/index.js'

const FIRST_SEED = Number(process.env.FIRST_SEED ?? 1)
const SEEDS = Number(process.env.SEEDS ?? 200)

const binary = findGeth()
// geth is not on every machine: `go install github.com/ethereum/go-ethereum/cmd/geth@v1.17.8` brings it.
const describeGeth = binary ? describe : describe.skip

describeGeth('requests that geth answers the same', () => {
  let geth: Geth
  let engine: Engine

  beforeAll(async () => {
    geth = await startGeth(binary!)
    engine = createEthereumJsEngine()
  }, 60_000)

  afterAll(async () => {
    await engine.close()
    await geth.stop()
  })

  async function differences(payload: object): Promise<string[]> {
    const params = [payload, 'latest']
    const [theirs, ours] = await Promise.all([
      geth.call('eth_simulateV1', params),
      answerOf(engine, params, () => geth.ground),
    ])
    return differencesFromNode(theirs, ours)
  }

  it.each(Object.entries({ ...HANDMADE_REQUESTS, ...LOG_REQUESTS, ...HALT_REQUESTS }))('%s', async (_name, payload) => {
    expect(await differences(payload)).toEqual([])
  })

  it(`random ones, seeds ${FIRST_SEED} to ${FIRST_SEED + SEEDS - 1}`, async () => {
    for (let seed = FIRST_SEED; seed < FIRST_SEED + SEEDS; seed++) {
      const found = await differences(new RandomRequest(seed).payload())
      expect({ seed, found }).toEqual({ seed, found: [] })
    }
  }, 600_000)
})

if (!binary) test.skip('requests that geth answers the same: no geth binary found', () => {})
