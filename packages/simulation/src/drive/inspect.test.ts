import type { Inspection } from '@upfront/protocol'
import type { CallRecord, Frame } from '../engine/call-record.js'
import { inspect } from './inspect.js'
import type { Simulation, SimulationAnswer } from './simulate.js'

const HASH = `0x${'11'.repeat(32)}` as const
const top: Frame = {
  kind: 'CALL',
  depth: 0,
  from: `0x${'22'.repeat(20)}`,
  to: `0x${'33'.repeat(20)}`,
  input: '0x',
  output: '0x',
  gas: 1_000n,
  gasUsed: 1_000n,
  reverted: false,
  isPrecompile: false,
  logs: [],
}
const inner: Frame = { ...top, depth: 1, input: `0x${'44'.repeat(100)}` }
const TRACED = { trace: { name: 'callTracer', config: {} }, stateDiff: true } as unknown as Inspection

/** Inspects an answer whose call made so many others. */
function inspected(frames: number, answerBytes = 64 * 1024 * 1024): Promise<SimulationAnswer> {
  const record = { frames: [top, ...Array(frames).fill(inner)], accounts: [], preimages: [], probed: [], probeGas: 0n }
  const parts = ['[{"hash":"0x","calls":[{"status":"0x1"', '}]}]']
  const json = parts.join('')
  const records = [{ ...record, gas: 1_000n, gasUsed: 1_000n } as unknown as CallRecord]
  const blocks = [{ hash: HASH, calls: [{}] }]
  const answer = { json, parts, blocks, records, gasUsed: 0n } as unknown as SimulationAnswer
  const request = { blockStateCalls: [{ calls: [{}] }] }
  const simulation = { request, limits: { answerBytes }, base: { hash: HASH } } as unknown as Simulation
  return inspect(simulation, TRACED, async () => answer)
}

/** Turns of the event loop while the promise was pending. */
async function turnsOf(work: Promise<unknown>): Promise<number> {
  let turns = 0
  let isOver = false
  const count = () => {
    if (isOver) return
    turns += 1
    setImmediate(count)
  }
  setImmediate(count)
  await work
  isOver = true
  return turns
}

describe('inspect', () => {
  it('presents a long record in several turns of the event loop, so that others are served in between', async () => {
    expect(await turnsOf(inspected(50_000))).toBeGreaterThanOrEqual(2)
  })

  it('refuses an answer that is too long before it is parsed for the fields of its blocks', async () => {
    await expect(inspected(1_000, 100_000)).rejects.toThrow('longer than 100000 bytes')
  })
})
