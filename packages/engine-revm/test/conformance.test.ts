import {
  answerOf,
  differencesFromNode,
  RecordedChain,
  type RecordingName,
  recordedExchanges,
  recordedFiles,
  recordedJson,
} from '@upfront/engine-conformance'
import type { Hex, SimulatedBlock } from '@upfront/protocol'
import type { RevmEngine } from '../src/index.js'
import { BUILDS } from './builds.js'

/** op-geth's message contains a pointer. */
const WORDED_OTHERWISE = ['op-withdrawals-refused.io']

const RECORDINGS: [string, RecordingName][] = [
  ['geth', 'conformance'],
  ['op-geth', 'conformance-op'],
]
const perBuild = BUILDS.flatMap(([build, create]) =>
  RECORDINGS.map(([node, recording]) => [node, build, create, recording] as const),
)

describe.each(perBuild)('exchanges recorded from %s, on the %s build', (_node, _build, create, recording) => {
  let engine: RevmEngine
  let chain: RecordedChain

  beforeAll(() => {
    engine = create()
    chain = new RecordedChain(recording)
  })

  afterAll(() => engine.close())

  it.each(recordedExchanges(recording))('$name', async ({ name, params, answer }) => {
    const ours = await answerOf(engine, params, (block) => chain.baseStateAt(block))
    const worded = WORDED_OTHERWISE.includes(name) ? [expect.stringMatching(/^\.error\.message: /)] : []
    expect(differencesFromNode(answer, ours)).toEqual(worded)
  })
})

type RealBlock = {
  payload: { blockStateCalls: { calls: object[]; blockOverrides: object }[]; validation: boolean }
  balances: Record<Hex, { before: Hex; after: Hex }>
}

/** Returns the balance of the address in its calldata. */
const BALANCE_READER = '0x5f353160005260206000f3'
const READER = '0x00000000000000000000000000000000000f1234'

describe.each(BUILDS)('blocks that op-geth built, on the %s build', (_build, create) => {
  let engine: RevmEngine
  beforeAll(() => {
    engine = create()
  })
  afterAll(() => engine.close())

  it.each(recordedFiles('conformance-op', 'real'))('%s: the simulated block leaves the same balances', async (file) => {
    const chain = new RecordedChain('conformance-op')
    const real: RealBlock = recordedJson('conformance-op', 'real', file)
    const addresses = Object.keys(real.balances) as Hex[]
    const readers = addresses.map((address) => ({
      from: READER,
      to: READER,
      input: `0x${address.slice(2).padStart(64, '0')}`,
    }))
    // The balances are read in the next block, by calls that pay nothing: its base fee is overridden.
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
    const { result, error } = await answerOf(engine, [payload, 'latest'], (block) => chain.baseStateAt(block))
    expect(error).toBeUndefined()
    const read = (result as SimulatedBlock[]).at(-1)!.calls.map(({ returnData }) => BigInt(returnData))
    expect(read).toEqual(addresses.map((address) => BigInt(real.balances[address]?.after ?? 0)))
  })
})
