import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { DEFAULT_SIMULATION_LIMITS, decodeSimulationRequest, type Hex, RpcError } from '@upfront/protocol'
import { simulateToJson } from '@upfront/simulation'
import { createRevmEngine, loadRevm, type RevmEngine } from '../src/index.js'
import { differences } from './compare-answers.js'
import { hasShared, RecordedChain, recordedExchanges, SHARED } from './recorded-chain.js'

const available = loadRevm()
const skip =
  available.addon === undefined ? available.reason : hasShared ? undefined : `no recorded answers at ${SHARED}`
if (skip !== undefined) console.log(`conformance of engine-revm is skipped: ${skip}`)
const describeIf = skip === undefined ? describe : describe.skip

async function answer(engine: RevmEngine, chain: RecordedChain, params: unknown) {
  try {
    const request = decodeSimulationRequest(params, DEFAULT_SIMULATION_LIMITS)
    const base = chain.header(request.block)
    const daFootprintScalar = chain.daFootprintScalar(base)
    const { json } = await simulateToJson({
      request,
      base,
      openState: () => chain.source(base),
      rules: chain.rules,
      engine,
      limits: DEFAULT_SIMULATION_LIMITS,
      ...(daFootprintScalar !== undefined && { daFootprintScalar }),
      cancellation: new AbortController(),
      dialect: 'ethereum',
    })
    return { result: JSON.parse(json.toString()) }
  } catch (error) {
    if (error instanceof RpcError) return { error: { code: error.code, message: error.message } }
    throw error
  }
}

function suite(name: string, folder: string, chainFolder: string) {
  describeIf(name, () => {
    let engine: RevmEngine
    let chain: RecordedChain
    beforeAll(() => {
      engine = createRevmEngine()
      chain = new RecordedChain(chainFolder)
    })
    afterAll(() => engine.close())

    const exchanges = skip === undefined ? recordedExchanges(folder) : []
    it.each(exchanges.map((exchange) => [exchange.name, exchange] as const))('%s', async (_name, exchange) => {
      expect(differences(exchange.answer, await answer(engine, chain, exchange.params))).toEqual([])
    })
    if (exchanges.length === 0) it.skip(skip ?? 'no cases', () => {})
  })
}

suite('recorded answers of geth', join(SHARED, 'conformance/cases'), join(SHARED, 'conformance/chain'))
suite('recorded answers of op-geth', join(SHARED, 'conformance-op/cases'), join(SHARED, 'conformance-op/chain'))

type RealBlock = {
  payload: { blockStateCalls: { calls: object[]; blockOverrides: object }[]; validation: boolean }
  balances: Record<Hex, { before: Hex; after: Hex }>
}

/** Returns the balance of the address that its call data holds. */
const BALANCE_READER = '0x5f353160005260206000f3'
const READER = '0x00000000000000000000000000000000000f1234'

describeIf('blocks that op-geth built', () => {
  let engine: RevmEngine
  beforeAll(() => {
    engine = createRevmEngine()
  })
  afterAll(() => engine.close())

  const folder = join(SHARED, 'conformance-op/real')
  const files = skip === undefined ? readdirSync(folder) : []
  it.each(files)('%s leaves the same balances', async (file) => {
    const chain = new RecordedChain(join(SHARED, 'conformance-op/chain'))
    const real: RealBlock = JSON.parse(readFileSync(join(folder, file), 'utf8'))
    const addresses = Object.keys(real.balances) as Hex[]
    const readers = addresses.map((address) => ({
      from: READER,
      to: READER,
      input: `0x${address.slice(2).padStart(64, '0')}`,
    }))
    // The balances are read in the block after, by calls that pay nothing: its base fee is overridden.
    const payload = {
      ...real.payload,
      blockStateCalls: [
        ...real.payload.blockStateCalls,
        {
          blockOverrides: { baseFeePerGas: '0x0' },
          stateOverrides: {
            [READER]: { code: BALANCE_READER, balance: '0xffffffffffffffffffffffff' },
            '0x4200000000000000000000000000000000000015': { state: {} },
          },
          calls: readers.map((reader) => ({ ...reader, gas: '0x186a0' })),
        },
      ],
    }
    const { result, error } = await answer(engine, chain, [payload, 'latest'])
    expect(error).toBeUndefined()
    const read = result.at(-1).calls.map((call: { returnData: Hex }) => BigInt(call.returnData))
    expect(read).toEqual(addresses.map((address) => BigInt(real.balances[address]?.after ?? 0)))
  })
  if (files.length === 0) it.skip(skip ?? 'no blocks', () => {})
})
