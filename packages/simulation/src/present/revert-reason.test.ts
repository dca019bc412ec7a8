import type { Hex } from '@upfront/protocol'
import fc from 'fast-check'
import { encodeErrorResult } from 'viem'
import { decodeRevertReason } from './revert-reason.js'

const abi = [
  { type: 'error', name: 'Error', inputs: [{ type: 'string', name: 'reason' }] },
  { type: 'error', name: 'Panic', inputs: [{ type: 'uint256', name: 'code' }] },
] as const
const error = (reason: string) => encodeErrorResult({ abi, errorName: 'Error', args: [reason] })
const panic = (code: bigint) => encodeErrorResult({ abi, errorName: 'Panic', args: [code] })
const word = (value: bigint) => value.toString(16).padStart(64, '0')

describe('decodeRevertReason', () => {
  it('decodes any Error(string)', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), (reason) => {
        expect(decodeRevertReason(error(reason))).toEqual({ kind: 'error', reason })
      }),
    )
  })

  it('decodes Panic(uint256) with its meaning', () => {
    expect(decodeRevertReason(panic(0x12n))).toEqual({
      kind: 'panic',
      code: 0x12n,
      meaning: 'division or modulo by zero',
    })
    expect(decodeRevertReason(panic(0x99n))).toEqual({
      kind: 'panic',
      code: 0x99n,
      meaning: 'unknown panic code: 0x99',
    })
    expect(decodeRevertReason(panic(2n ** 256n - 1n))).toMatchObject({ kind: 'panic', code: 2n ** 256n - 1n })
  })

  it('returns selector and data of custom errors', () => {
    expect(decodeRevertReason('0x3cc50b45')).toEqual({ kind: 'custom', selector: '0x3cc50b45', data: '0x' })
    expect(decodeRevertReason(`0xdb42144d${word(5n)}`)).toEqual({
      kind: 'custom',
      selector: '0xdb42144d',
      data: `0x${word(5n)}`,
    })
  })

  it('returns none for empty data, and the bytes of data shorter than a selector', () => {
    expect(decodeRevertReason('0x')).toEqual({ kind: 'none' })
    expect(decodeRevertReason('0xabcdef')).toEqual({ kind: 'bytes', data: '0xabcdef' })
  })

  it.each([
    ['no body', ''],
    ['half a word', '00'],
    ['offset beyond the end', word(64n)],
    ['offset of 2^255', word(2n ** 255n)],
    ['length beyond the end', word(32n) + word(1n)],
    ['length of 2^256 - 1', word(32n) + word(2n ** 256n - 1n)],
  ])('returns a malformed Error(string) as a custom error: %s', (_name, body) => {
    expect(decodeRevertReason(`0x08c379a0${body}`)).toEqual({
      kind: 'custom',
      selector: '0x08c379a0',
      data: `0x${body}`,
    })
    if (body.length < 64) expect(decodeRevertReason(`0x4e487b71${body}`).kind).toBe('custom')
  })

  it('never throws on random data', () => {
    const selectors = fc.constantFrom('08c379a0', '4e487b71', '')
    fc.assert(
      fc.property(selectors, fc.uint8Array({ maxLength: 200 }), (selector, bytes) => {
        const data: Hex = `0x${selector}${Buffer.from(bytes).toString('hex')}`
        expect(decodeRevertReason(data).kind).toMatch(/none|error|panic|custom|bytes/)
      }),
    )
  })
})
