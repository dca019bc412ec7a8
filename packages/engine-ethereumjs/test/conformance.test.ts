import { answerOf, differencesFromNode, RecordedChain, recordedExchanges } from '@upfront/engine-conformance'
import type { Engine } from '@upfront/simulation'
import { createEthereumJsEngine } from '../src/index.js'

describe('exchanges recorded from geth', () => {
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
