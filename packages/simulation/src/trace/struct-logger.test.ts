import type { CallRecord, Frame, RecordedHalt } from '../engine/call-record.js'
import type { Halt } from '../engine/halt.js'
import { structLogJson } from './struct-logger.js'

const top: Frame = {
  kind: 'CALL',
  depth: 0,
  from: `0x${'aa'.repeat(20)}`,
  input: '0x',
  output: '0x01',
  gas: 100n,
  gasUsed: 100n,
  reverted: false,
  isPrecompile: false,
  logs: [],
}
const recordOf = (steps: string[], haltedSteps: RecordedHalt[] = [], more: Partial<Frame> = {}): CallRecord => ({
  gas: 30_000n,
  gasUsed: 21_000n,
  frames: [{ ...top, ...more }],
  accounts: [],
  probed: [],
  probeGas: 0n,
  steps,
  haltedSteps,
  preimages: [],
})
const STEP = '{"pc":0,"op":"PUSH0","gas":9,"gasCost":2,"depth":1,"stack":[]}'

describe('structLogJson', () => {
  it('shows steps as they are', () => {
    expect(JSON.parse(structLogJson(recordOf([STEP]), {}))).toEqual({
      gas: 21_000,
      failed: false,
      returnValue: '0x01',
      structLogs: [{ pc: 0, op: 'PUSH0', gas: 9, gasCost: 2, depth: 1, stack: [] }],
    })
  })

  it('ends with the step that passes the limit', () => {
    const steps = (limit: number) =>
      JSON.parse(structLogJson(recordOf([STEP, STEP, STEP]), { limit })).structLogs.length
    expect([0, 1, STEP.length - 1, STEP.length, 3 * STEP.length].map(steps)).toEqual([3, 1, 1, 2, 3])
  })

  it.each<[string, number, boolean]>([
    ['SWAP16', 17, true],
    ['SWAPN', 2, true],
    ['SWAPN', 17, false],
  ])('shows of %s that lacks %i words whether it lacked them before it ran: %s', (op, inputs, isShown) => {
    const halt = { kind: 'stackUnderflow', height: 1, inputs } as const
    const halted = { at: 0, depth: 1, halt, cost: 3n, rest: '}' }
    const json = structLogJson(recordOf([`{"pc":0,"op":"${op}","gas":9`], [halted], { halt, output: '0x' }), {})
    expect(json.includes('"error":"stack underflow')).toBe(isShown)
  })

  it.each<[Halt, string]>([
    [{ kind: 'outOfGas' }, ',"error":"out of gas"'],
    [{ kind: 'stackUnderflow', height: 1, inputs: 2 }, ',"error":"stack underflow (1 <=> 2)"'],
    [{ kind: 'returnDataOutOfBounds' }, ''],
    [{ kind: 'writeProtection', isPriced: true }, ',"error":"out of gas: write protection"'],
    [{ kind: 'writeProtection', isPriced: false }, ''],
  ])('shows what the step took that halted, and what was found before it ran: %j', (halt, error) => {
    const halted = { at: 0, depth: 1, halt, cost: 3n, rest: ',"stack":[]}' }
    const record = recordOf(['{"pc":0,"op":"X","gas":9'], [halted], { halt, output: '0x' })
    const json = structLogJson(record, {})
    expect(json).toContain(`{"pc":0,"op":"X","gas":9,"gasCost":3,"depth":1${error},"stack":[]}`)
    expect(JSON.parse(json)).toMatchObject({ failed: true, returnValue: '0x' })
  })
})
