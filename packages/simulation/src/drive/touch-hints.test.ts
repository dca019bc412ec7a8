import type { Address, Hex } from '@upfront/protocol'
import type { SimulationPlan } from '../plan/simulation-plan.js'
import { hintedCall } from './touch-hints.js'

const TO: Address = `0x${'11'.repeat(20)}`
const plan = (...inputs: Hex[]) =>
  ({ blocks: [{ stateOverrides: [], calls: inputs.map((input) => ({ to: TO, input })) }] }) as unknown as SimulationPlan
const hinted = (...inputs: Hex[]) => hintedCall(plan(...inputs), new Set())?.call.input

describe('hintedCall', () => {
  it('returns the call with the longest input, or undefined if none has input', () => {
    expect(hinted('0x', '0x0102', '0x03')).toBe('0x0102')
    expect(hinted('0x')).toBeUndefined()
  })

  it('skips a call whose input is too long to send', () => {
    const long: Hex = `0x${'5b'.repeat(300_000)}`
    expect(hinted(long)).toBeUndefined()
    expect(hinted(long, '0x0102')).toBe('0x0102')
  })
})
