import { fileURLToPath } from 'node:url'
import {
  type BlockHeader,
  blockHeaderFromRpc,
  DEFAULT_SIMULATION_LIMITS,
  decodeSimulationRequest,
} from '@upfront/protocol'
import { type Engine, simulate } from '@upfront/simulation'
import { createEthereumJsEngine } from '../src/index.js'
import { comparable, withoutPlace } from './comparable.js'
import { readGenesis } from './genesis-state.js'
import { findGeth, type Geth, startGeth } from './geth.js'
import { HANDMADE } from './handmade-requests.js'
import { RandomRequest } from './random-request.js'

const GENESIS = fileURLToPath(new URL('./genesis.json', import.meta.url))
const FIRST_SEED = Number(process.env.FIRST_SEED ?? 1)
const SEEDS = Number(process.env.SEEDS ?? 200)

const binary = findGeth()
// geth is not on every machine: `go install github.com/ethereum/go-ethereum/cmd/geth@v1.17.8` brings it.
const describeGeth = binary ? describe : describe.skip

describeGeth('requests that geth answers the same', () => {
  const chain = readGenesis(GENESIS)
  let geth: Geth
  let engine: Engine
  let base: BlockHeader

  beforeAll(async () => {
    geth = await startGeth(binary!, GENESIS)
    engine = createEthereumJsEngine()
    base = blockHeaderFromRpc((await geth.call('eth_getBlockByNumber', ['latest', false])).result)
  }, 60_000)

  afterAll(async () => {
    await engine.close()
    await geth.stop()
  })

  it.each(Object.entries(HANDMADE))('%s', async (_name, payload) => {
    expect(await answerOf([payload, 'latest'])).toEqual(await gethAnswer([payload, 'latest']))
  })

  it(`random ones, seeds ${FIRST_SEED} to ${FIRST_SEED + SEEDS - 1}`, async () => {
    for (let seed = FIRST_SEED; seed < FIRST_SEED + SEEDS; seed++) {
      const params = [new RandomRequest(seed).payload(), 'latest']
      expect({ seed, answer: await answerOf(params) }).toEqual({ seed, answer: await gethAnswer(params) })
    }
  }, 600_000)

  async function gethAnswer(params: unknown[]) {
    const { result, error } = await geth.call('eth_simulateV1', params)
    return error ? { code: error.code, message: error.message } : comparable(result)
  }

  async function answerOf(params: unknown) {
    try {
      const { blocks } = await simulate({
        request: decodeSimulationRequest(JSON.parse(JSON.stringify(params)), DEFAULT_SIMULATION_LIMITS),
        base,
        openState: () => chain.stateAt(base),
        rules: chain.rules,
        engine,
        limits: DEFAULT_SIMULATION_LIMITS,
        cancellation: { signal: AbortSignal.timeout(15_000) },
        dialect: 'ethereum',
      })
      return comparable(JSON.parse(JSON.stringify(blocks)))
    } catch (error) {
      const { code, message } = error as { code?: number; message: string }
      return { code, message: withoutPlace(message) }
    }
  }
})

if (!binary) test.skip('random requests on geth: no geth binary found', () => {})
