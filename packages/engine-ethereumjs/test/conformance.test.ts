import fs from 'node:fs'
import path from 'node:path'
import { DEFAULT_SIMULATION_LIMITS, decodeSimulationRequest, RpcError } from '@upfront/protocol'
import { type Engine, simulate } from '@upfront/simulation'
import { createEthereumJsEngine } from '../src/index.js'
import { comparable, withoutPlace } from './comparable.js'
import { readRecordedChain } from './recorded-chain.js'
import { sharedFolder } from './shared-folder.js'

const folder = sharedFolder('conformance')
const cases = folder ? fs.readdirSync(path.join(folder, 'cases')).filter((name) => name.endsWith('.io')) : []

// The recorded exchanges are not part of the repository.
const describeRecorded = folder ? describe : describe.skip

describeRecorded('exchanges recorded from geth', () => {
  const chain = folder ? readRecordedChain(path.join(folder, 'chain')) : undefined
  let engine: Engine

  beforeAll(() => {
    engine = createEthereumJsEngine()
  })

  afterAll(() => engine.close())

  it.each(cases)('%s', async (name) => {
    const lines = fs.readFileSync(path.join(folder!, 'cases', name), 'utf8').split('\n')
    const { params } = JSON.parse(lines.find((line) => line.startsWith('>> '))!.slice(3))
    const expected = JSON.parse(lines.find((line) => line.startsWith('<< '))!.slice(3))
    const answer = await answerOf(params).catch((error) => error)
    if (expected.error) {
      expect(answer).toBeInstanceOf(RpcError)
      expect({ code: answer.code, message: withoutPlace(answer.message) }).toEqual(expected.error)
    } else {
      expect(comparable(JSON.parse(JSON.stringify(answer)))).toEqual(comparable(expected.result))
    }
  })

  async function answerOf(params: unknown) {
    const request = decodeSimulationRequest(params, DEFAULT_SIMULATION_LIMITS)
    const { headers, rules, stateAt } = chain!
    const base = request.block.kind === 'number' ? headers[Number(request.block.number)]! : headers.at(-1)!
    const { blocks } = await simulate({
      request,
      base,
      openState: () => stateAt(base),
      rules,
      engine,
      limits: DEFAULT_SIMULATION_LIMITS,
      cancellation: { signal: AbortSignal.timeout(15_000) },
      dialect: 'ethereum',
    })
    return blocks
  }
})

if (!folder) test.skip('recorded exchanges: the shared folder is not beside the repository', () => {})
