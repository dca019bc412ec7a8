import type { FoundByStep, Halt } from '../engine/halt.js'
import { haltMessage } from './halt-message.js'

const HUGE = 2n ** 256n - 1n

/** An instruction of Osaka that could not be paid for. */
function step(opcode: number, found?: Partial<FoundByStep>, height = 7): Halt {
  const full = { operands: [], memory: 0, returnData: 0, isCold: false, ...found }
  return { kind: 'instruction', step: { fork: 'osaka', opcode, height, ...(found && { found: full }) } }
}

describe('haltMessage', () => {
  it.each<[string, Halt]>([
    ['out of gas', { kind: 'outOfGas' }],
    ['max code size exceeded: code size 24577 limit 24576', { kind: 'codeTooLarge', size: 24_577, limit: 24_576 }],
    ['invalid opcode: CLZ', { kind: 'invalidOpcode', opcode: 0x1e }],
    ['invalid opcode: opcode 0xc not defined', { kind: 'invalidOpcode', opcode: 0x0c }],
    ['stack underflow (1 <=> 2)', step(0x01, undefined, 1)],
    ['stack underflow (15 <=> 16)', step(0x8f, undefined, 15)],
    ['stack limit reached 1024 (1023)', step(0x5f, undefined, 1_024)],
    ['out of gas', step(0x5b, undefined, 1_024)],
    ['what it is called', { kind: 'other', name: 'what it is called' }],
  ])('%s', (message, halt) => {
    expect(haltMessage(halt)).toBe(message)
  })

  it('charges what is constant before it computes memory', () => {
    expect(haltMessage(step(0x51, { operands: [HUGE], gas: 2n }))).toBe('out of gas')
    expect(haltMessage(step(0x51, { operands: [HUGE], gas: 3n }))).toBe('gas uint64 overflow')
    expect(haltMessage(step(0x51, { operands: [HUGE] }))).toBe('gas uint64 overflow')
  })

  it('tells a size of memory beyond 64 bits from a price beyond', () => {
    const messageAt = (offset: bigint) => haltMessage(step(0x51, { operands: [offset], gas: 1_000n }))
    expect(messageAt(0x1fffffffe0n - 32n)).toBe('out of gas')
    expect(messageAt(0x1fffffffe0n)).toBe('out of gas: gas uint64 overflow')
    expect(messageAt(2n ** 64n - 64n)).toBe('out of gas: gas uint64 overflow')
    expect(messageAt(2n ** 64n - 63n)).toBe('gas uint64 overflow')
  })

  it('takes the access of a call before the price of its memory', () => {
    const operands = [0n, 0n, 0x1fffffffe0n, 1n, 0n, 0n]
    expect(haltMessage(step(0xfa, { operands, gas: 2_599n, isCold: true }))).toBe('out of gas: out of gas')
    expect(haltMessage(step(0xfa, { operands, gas: 2_600n, isCold: true }))).toBe('out of gas: gas uint64 overflow')
  })

  it('checks the bounds of return data once copying it is paid for', () => {
    const found = { operands: [0n, 1n, 32n], returnData: 32 }
    expect(haltMessage(step(0x3e, { ...found, gas: 8n }))).toBe('out of gas')
    expect(haltMessage(step(0x3e, { ...found, gas: 9n }))).toBe('return data out of bounds')
  })

  it('asks for a price before it looks at the length of what a precompile is given', () => {
    const pairing = (gas: bigint) => haltMessage({ kind: 'precompile', fault: 'pairingLength', gas, input: '0x00' })
    expect(pairing(44_999n)).toBe('out of gas')
    expect(pairing(45_000n)).toBe('bad elliptic curve pairing size')
  })
})
