import type { CallRecord, Frame } from '../engine/call-record.js'
import { callTrace, countLogs } from './call-tracer.js'

const A = `0x${'aa'.repeat(20)}` as const
const B = `0x${'bb'.repeat(20)}` as const
const log = (position: number, data: `0x${string}`) => ({ position, address: B, topics: [], data })
const frame = (depth: number, more: Partial<Frame> = {}): Frame => ({
  kind: 'CALL',
  depth,
  from: A,
  to: B,
  input: '0x',
  output: '0x',
  gas: 100n,
  gasUsed: 10n,
  value: 0n,
  reverted: false,
  isPrecompile: false,
  logs: [],
  ...more,
})
const recordOf = (...frames: Frame[]): CallRecord => ({
  gas: 30_000n,
  gasUsed: 21_000n,
  frames,
  accounts: [],
  probed: [],
  probeGas: 0n,
  preimages: [],
})

describe('callTrace', () => {
  it("shows the transaction's gas in the outermost frame, and omits empty fields", () => {
    expect(callTrace(recordOf(frame(0)))).toEqual({
      type: 'CALL',
      from: A,
      to: B,
      gas: '0x7530',
      gasUsed: '0x5208',
      input: '0x',
      value: '0x0',
    })
  })

  it('gives all logs position 0x0 with onlyTopCall, like geth', () => {
    const record = recordOf(frame(0, { logs: [log(0, '0x01'), log(2, '0x02')] }), frame(1), frame(1))
    const positions = (onlyTopCall: boolean) =>
      callTrace(record, { withLog: true, onlyTopCall })?.logs?.map(({ position }) => position)
    expect(positions(false)).toEqual(['0x0', '0x2'])
    expect(positions(true)).toEqual(['0x0', '0x0'])
  })

  it('nests frames in call order', () => {
    const trace = callTrace(recordOf(frame(0), frame(1, { input: '0x01' }), frame(2), frame(1, { input: '0x02' })))
    expect(trace?.calls?.map(({ input, calls }) => [input, calls?.length])).toEqual([
      ['0x01', 1],
      ['0x02', undefined],
    ])
  })

  it('omits the address of a failed creation', () => {
    const trace = callTrace(recordOf(frame(0, { kind: 'CREATE', halt: { kind: 'outOfGas' } })))
    expect(trace).toMatchObject({ error: 'out of gas' })
    expect(trace).not.toHaveProperty('to')
  })

  it('omits reverted logs and reuses their indices', () => {
    const record = recordOf(
      frame(0, { logs: [log(0, '0x01'), log(1, '0x04'), log(2, '0x05')] }),
      frame(1, { reverted: true, logs: [log(0, '0x02')] }),
      frame(2, { logs: [log(0, '0x03')] }),
      frame(1, { logs: [log(0, '0x06')] }),
    )
    const trace = callTrace(record, { withLog: true }, 5)
    expect(trace?.logs?.map(({ data, index, position }) => [data, index, position])).toEqual([
      ['0x01', '0x5', '0x0'],
      ['0x04', '0x6', '0x1'],
      ['0x05', '0x8', '0x2'],
    ])
    expect(trace?.calls?.map(({ logs }) => logs?.map(({ index }) => index))).toEqual([undefined, ['0x7']])
    expect(trace?.calls?.[0]?.calls?.[0]?.logs).toBeUndefined()
    expect(countLogs(record)).toBe(4)
  })
})
