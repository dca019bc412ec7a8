import type { Hex } from '@upfront/protocol'
import type { FailedCall } from '../engine/engine.js'
import { presentFailure } from './present-failure.js'

const word = (value: number) => value.toString(16).padStart(64, '0')
const HELLO: Hex = `0x08c379a0${word(32)}${word(5)}68656c6c6f${'0'.repeat(54)}`

function failed(failure: FailedCall['failure'], returnData: Hex = '0x'): FailedCall {
  return { failure, returnData }
}

describe('presentFailure', () => {
  it.each<[Hex, string, string]>([
    ['0x', 'execution reverted', 'execution reverted'],
    [HELLO, 'execution reverted: hello', 'execution reverted: hello'],
    [
      `0x4e487b71${word(0x12)}`,
      'execution reverted: panic 0x12 (division or modulo by zero)',
      'execution reverted: division or modulo by zero',
    ],
    [`0x4e487b71${word(1)}`, 'execution reverted: panic 0x01 (assert(false))', 'execution reverted: assert(false)'],
    ['0x3cc50b45', 'execution reverted: custom error 0x3cc50b45', 'execution reverted'],
    [
      `0xdb42144d${word(7)}`,
      `execution reverted: custom error 0xdb42144d with data 0x${word(7)}`,
      'execution reverted',
    ],
    ['0xab', 'execution reverted: 0xab', 'execution reverted'],
  ])('gives the revert reason in both dialects: case %#', (data, upfront, message) => {
    const call = failed({ kind: 'revert' }, data)
    expect(presentFailure(call, 'upfront')).toBe(upfront)
    expect(presentFailure(call, 'ethereum')).toEqual({ code: 3, message, data })
  })

  it('gives a halt’s message in both dialects, and code -32015 in geth’s', () => {
    const call = failed({ kind: 'halt', halt: { kind: 'outOfGas' }, isGasCapped: false })
    expect(presentFailure(call, 'upfront')).toBe('out of gas')
    expect(presentFailure(call, 'ethereum')).toEqual({ code: -32015, message: 'out of gas' })
  })

  it('shortens megabytes of revert data in the message', () => {
    const call = failed({ kind: 'revert' }, `0xdb42144d${'ab'.repeat(1_000_000)}`)
    expect((presentFailure(call, 'upfront') as string).length).toBeLessThan(2_200)
    expect(presentFailure(call, 'upfront')).toContain('(1000000 bytes)')
  })
})
