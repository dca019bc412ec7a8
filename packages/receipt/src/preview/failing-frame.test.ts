import type { CallFrame } from '@upfront/simulation'
import { failingFrame } from './failing-frame.js'

const address = (byte: string) => `0x${byte.repeat(20)}` as const
const REASON = { error: 'execution reverted', output: '0x08c379a0', revertReason: 'no' } as const
const frame = (to: string, more: Partial<CallFrame> = {}): CallFrame => ({
  ...{ type: 'CALL', from: address('a1'), to: address(to), input: '0xa9059cbb00', gas: '0x1', gasUsed: '0x1' },
  ...more,
})

it('failingFrame is the innermost frame whose revert data its callers passed on', () => {
  const inner = frame('03', REASON)
  const top = frame('01', { ...REASON, calls: [frame('09', REASON), frame('02', { ...REASON, calls: [inner] })] })
  expect(failingFrame(top)).toEqual({
    ...{ depth: 2, type: 'CALL', from: address('a1'), to: address('03') },
    ...{ selector: '0xa9059cbb', error: 'execution reverted', revertReason: 'no' },
  })
})

it('failingFrame is the frame that reverted with its own data, or after its calls', () => {
  const own = frame('01', { ...REASON, calls: [frame('02', { error: 'out of gas' })] })
  expect(failingFrame(own)).toMatchObject({ depth: 0, to: address('01') })
  const later = frame('01', { ...REASON, calls: [frame('02', REASON), frame('03')] })
  expect(failingFrame(later)).toMatchObject({ depth: 0 })
})

it('failingFrame is the frame that halted if its callers revert without data', () => {
  const halted = frame('02', { error: 'invalid opcode: INVALID', input: '0x' })
  expect(failingFrame(frame('01', { error: 'execution reverted', calls: [halted] }))).toMatchObject({
    ...{ depth: 1, error: 'invalid opcode: INVALID', selector: null, revertReason: null },
  })
})

it('failingFrame truncates a long revert reason, and is null if the transaction succeeded', () => {
  expect(failingFrame(frame('01', { ...REASON, revertReason: 'x'.repeat(5_000) }))?.revertReason).toHaveLength(1_000)
  expect(failingFrame(frame('01', { calls: [frame('02', REASON)] }))).toBeNull()
})
