import type { PlannedCall } from '@upfront/simulation'
import { effectiveFees } from './call-fees.js'

const call = (fields: Partial<PlannedCall>): PlannedCall => ({
  type: 2,
  from: `0x${'a1'.repeat(20)}`,
  to: null,
  input: '0x',
  value: 0n,
  accessList: [],
  ...fields,
})

describe('effectiveFees', () => {
  it.each([
    ['a legacy price', { gasPrice: 9n }, { gasPrice: 9n, tip: 2n }],
    ['base fee and tip', { maxFeePerGas: 20n, maxPriorityFeePerGas: 2n }, { gasPrice: 9n, tip: 2n }],
    ['the cap where it is lower', { maxFeePerGas: 8n, maxPriorityFeePerGas: 2n }, { gasPrice: 8n, tip: 1n }],
    ['nothing where nothing is offered', {}, { gasPrice: 0n, tip: 0n }],
    ['nothing for a legacy price of zero', { gasPrice: 0n }, { gasPrice: 0n, tip: 0n }],
  ])('takes %s', (_name, fields, expected) => {
    expect(effectiveFees(call(fields), 7n)).toMatchObject(expected)
  })
})
