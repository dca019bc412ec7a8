import {
  answerOf,
  differencesFromNode,
  RecordedChain,
  recordedExchanges,
  whyNoRecordings,
} from '@upfront/engine-conformance'
import type { Engine } from '@upfront/simulation'
import { createEthereumJsEngine } from '../src/index.js'

const skipped = whyNoRecordings()
const describeRecorded = skipped === undefined ? describe : describe.skip

describeRecorded('exchanges recorded from geth', () => {
  let chain: RecordedChain
  let engine: Engine

  beforeAll(() => {
    chain = new RecordedChain('conformance')
    engine = createEthereumJsEngine()
  })

  afterAll(() => engine.close())

  it.each(recordedExchanges('conformance'))('$name', async ({ params, answer }) => {
    const ours = await answerOf(engine, params, (block) => chain.groundAt(block))
    expect(differencesFromNode(answer, ours)).toEqual([])
  })
})

if (skipped !== undefined) test.skip(`exchanges recorded from geth: ${skipped}`, () => {})
