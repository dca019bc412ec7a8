import type { PlannedCall } from '@upfront/simulation'
import { floorGas, intrinsicGas } from './intrinsic-gas.js'

const call = (fields: Partial<PlannedCall> = {}): PlannedCall => ({
  type: 2,
  from: `0x${'a1'.repeat(20)}`,
  to: `0x${'b2'.repeat(20)}`,
  input: '0x',
  value: 0n,
  accessList: [],
  ...fields,
})
const authorization = { chainId: 0n, address: call().from, nonce: 0n, yParity: 0n, r: 1n, s: 1n }

describe('intrinsicGas', () => {
  it.each([
    ['a transfer', call(), new Uint8Array(0), 'osaka', 21_000n],
    ['calldata', call(), Uint8Array.of(0, 0, 1), 'osaka', 21_024n],
    ['a deployment before Shanghai', call({ to: null }), Uint8Array.of(1), 'paris', 53_016n],
    ['a deployment with init code words', call({ to: null }), new Uint8Array(33), 'shanghai', 53_136n],
    [
      'an access list',
      call({ accessList: [{ address: call().from, storageKeys: [`0x${'00'.repeat(32)}`] }] }),
      new Uint8Array(0),
      'osaka',
      25_300n,
    ],
    [
      'authorizations',
      call({ authorizationList: [authorization, authorization] }),
      new Uint8Array(0),
      'prague',
      71_000n,
    ],
  ] as const)('prices %s', (_name, planned, input, fork, gas) => {
    expect(intrinsicGas(planned, input, fork)).toBe(gas)
  })
})

describe('floorGas', () => {
  it('comes with Prague (EIP-7623)', () => {
    const input = Uint8Array.of(0, 0, 1)
    expect(floorGas(input, 'cancun')).toBe(0n)
    expect(floorGas(input, 'prague')).toBe(21_060n)
  })
})
