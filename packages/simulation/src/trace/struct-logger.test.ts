import { joinJson } from '@upfront/protocol'
import type { CallRecord, Frame } from '../engine/call-record.js'
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
const recordOf = (more: Partial<Frame>, steps?: string | Buffer): CallRecord => ({
  gas: 30_000n,
  gasUsed: 21_000n,
  frames: [{ ...top, ...more }],
  accounts: [],
  probed: [],
  probeGas: 0n,
  ...(steps && { steps }),
  preimages: [],
})
const shown = (record: CallRecord) => JSON.parse(joinJson(structLogJson(record)).toString())

describe('structLogJson', () => {
  it.each([
    ['text', '{"pc":0},{"pc":1}'],
    ['bytes', Buffer.from('{"pc":0},{"pc":1}')],
  ])('copies the engine’s steps unchanged, from %s', (_, steps) => {
    expect(shown(recordOf({}, steps))).toEqual({
      gas: 21_000,
      failed: false,
      returnValue: '0x01',
      structLogs: [{ pc: 0 }, { pc: 1 }],
    })
  })

  it('shows no steps for a call without code', () => {
    expect(shown(recordOf({})).structLogs).toEqual([])
  })

  it('shows the return value of a reverted call, and 0x for one that halted', () => {
    expect(shown(recordOf({ reverted: true }))).toMatchObject({ failed: true, returnValue: '0x01' })
    expect(shown(recordOf({ halt: { kind: 'outOfGas' } }))).toMatchObject({ failed: true, returnValue: '0x' })
  })
})
