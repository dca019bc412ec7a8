import { setImmediate } from 'node:timers/promises'
import type { Tracer } from '@upfront/protocol'
import type { Answer } from '@upfront/simulation'
import type { RequestLimits } from '../simulate/simulation-context.js'
import { traceJson } from './trace-answer.js'

const STRUCT_LOGGER: Tracer = { name: 'structLogger', config: {} }

function recordOf(steps: number): Answer {
  const record = { steps: Array(steps).fill('{"pc":0}'), haltedSteps: [], frames: [], gasUsed: 21_000n }
  return { records: [record] } as unknown as Answer
}

/** The turn of the event loop, from 0, in which each trace is made. */
async function turnsOf(records: Answer[]): Promise<number[]> {
  let turn = 0
  const made = Promise.all(
    records.map((record) => traceJson(record, STRUCT_LOGGER, {} as RequestLimits).then((json) => [json.length, turn])),
  )
  let isOver = false
  void made.then(() => {
    isOver = true
  })
  for (; !isOver; turn++) await setImmediate()
  return (await made).map(([, at]) => at!)
}

describe('traceJson', () => {
  it('puts long traces together in a turn of the event loop each', async () => {
    const turns = await turnsOf([recordOf(2_000), recordOf(2_000), recordOf(2_000)])
    expect(new Set(turns).size).toBe(3)
  })

  it('puts short ones together at once', async () => {
    expect(await turnsOf([recordOf(10), recordOf(10)])).toEqual([0, 0])
  })

  it('has all steps of a long one', async () => {
    const json = await traceJson(recordOf(2_000), STRUCT_LOGGER, {} as RequestLimits)
    expect(JSON.parse(json).structLogs).toHaveLength(2_000)
  })
})
