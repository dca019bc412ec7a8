import type { Hex } from '@upfront/protocol'
import type { Engine, ExecutedBlock, SimulationPlan, StateSource } from '@upfront/simulation'
import { withAnswerLimit } from './answer-limit.js'

const outcomeOf = (returnData: Hex, logs: { data: Hex; topics: Hex[] }[]) => ({
  blocks: [{ calls: [{ returnData, logs }] }] as unknown as ExecutedBlock[],
  touched: { accounts: 0, slots: 0 },
})
const engineOf = (outcome: Awaited<ReturnType<Engine['simulate']>>): Engine => ({
  name: 'revm',
  version: '0',
  simulate: () => Promise.resolve(outcome),
  close: () => Promise.resolve(),
})
const run = (outcome: ReturnType<typeof outcomeOf>) =>
  withAnswerLimit(engineOf(outcome), 1_000).simulate(
    {} as SimulationPlan,
    {} as StateSource,
    new AbortController().signal,
  )

describe('withAnswerLimit', () => {
  it('lets pass what fits', async () => {
    const outcome = outcomeOf(`0x${'00'.repeat(400)}`, [])
    expect(await run(outcome)).toBe(outcome)
  })

  it.each([
    ['return data', outcomeOf(`0x${'00'.repeat(500)}`, [])],
    ['log data', outcomeOf('0x', [{ data: `0x${'00'.repeat(500)}`, topics: [] }])],
    ['topics', outcomeOf('0x', Array(5).fill({ data: '0x', topics: Array(3).fill(`0x${'00'.repeat(32)}`) }))],
  ])('refuses too many bytes of %s', async (_, outcome) => {
    await expect(run(outcome)).rejects.toMatchObject({ code: -32005 })
  })

  it('refuses too long a text, errors included', async () => {
    const engine = engineOf(outcomeOf('0x', []))
    const written = (pieces: string[], returnData: Hex) => ({
      pieces,
      failures: [{ failure: { kind: 'revert' as const }, returnData }],
      gasUsed: 0n,
      touched: { accounts: 0, slots: 0 },
    })
    const write = (pieces: string[], returnData: Hex) =>
      withAnswerLimit({ ...engine, write: () => Promise.resolve(written(pieces, returnData)) }, 1_000).write?.(
        {} as SimulationPlan,
        {} as StateSource,
        new AbortController(),
      )
    await expect(write(['x'.repeat(500), ''], '0x')).resolves.toBeDefined()
    await expect(write(['x'.repeat(500), 'x'.repeat(501)], '0x')).rejects.toMatchObject({ code: -32005 })
    await expect(write(['x'.repeat(500), ''], `0x${'00'.repeat(250)}`)).rejects.toMatchObject({ code: -32005 })
  })
})
