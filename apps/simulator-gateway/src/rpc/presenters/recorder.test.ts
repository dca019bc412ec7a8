import { RequestContext } from '../../requests/request-context.js'
import type { SimulationContext } from '../../simulate/simulation-context.js'
import type { Simulator } from '../../simulate/simulator.js'
import { Recorder } from './recorder.js'

it('simulates with the limits of the request and geth’s error texts, and waits for a recording turn', async () => {
  let given: SimulationContext | undefined
  const simulator = {
    simulate: async (_: string, __: unknown, context: SimulationContext) => {
      given = context
      return { blocks: [], calls: [] }
    },
  }
  const turns: number[] = []
  const request = {
    ...{ id: '1', caller: '192.0.2.1', dialect: 'upfront', length: 1024 * 1024 },
    budget: { timeoutMs: 1_000, limits: { answerBytes: 7 } },
  }
  const turn = { lifetime: {}, record: async (bytes: number) => void turns.push(bytes) }
  const context = new RequestContext(
    ...([request, turn, {}] as unknown as ConstructorParameters<typeof RequestContext>),
  )
  const payload = { blockStateCalls: [{ calls: [] }] }
  await new Recorder(simulator as unknown as Simulator).record({ payload, block: 'latest', places: [] }, context)
  expect(given).toMatchObject({ dialect: 'ethereum', isLarge: true, limits: { answerBytes: 7 }, view: context.view })
  await given!.record?.(5)
  expect(turns).toEqual([5])
})
