import type { Halt } from '../engine/halt.js'
import { haltMessage, isOutOfGas } from './halt-message.js'

describe('haltMessage', () => {
  it.each<[string, Halt]>([
    ['out of gas', { kind: 'outOfGas' }],
    ['out of gas: not enough gas for reentrancy sentry', { kind: 'reentrancySentry' }],
    ['max code size exceeded: code size 24577 limit 24576', { kind: 'codeTooLarge', size: 24_577, limit: 24_576 }],
    ['invalid opcode: CLZ', { kind: 'invalidOpcode', opcode: 'CLZ' }],
    ['stack underflow (1 <=> 2)', { kind: 'stackUnderflow', height: 1, inputs: 2 }],
    ['stack limit reached 1024 (1023)', { kind: 'stackOverflow' }],
    ['bad elliptic curve pairing size', { kind: 'precompile', fault: 'pairingLength' }],
    ['what it is called', { kind: 'other', name: 'what it is called' }],
  ])('words the halt as: %s', (message, halt) => {
    expect(haltMessage(halt)).toBe(message)
  })
})

describe('isOutOfGas', () => {
  it.each<[Halt, boolean]>([
    [{ kind: 'reentrancySentry' }, true],
    [{ kind: 'precompile', fault: 'outOfGas' }, true],
    [{ kind: 'writeProtection', isPriced: true }, true],
    [{ kind: 'writeProtection', isPriced: false }, false],
    [{ kind: 'codeStorageOutOfGas' }, false],
  ])('for %j returns %s', (halt, expected) => {
    expect(isOutOfGas(halt)).toBe(expected)
  })
})
