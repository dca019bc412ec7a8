import { Place } from '../decode/decode-error.js'
import { decodeUserOperation } from './user-operation.js'

const A = `0x${'a1'.repeat(20)}`
const F = `0x${'f1'.repeat(20)}`
const P = `0x${'b1'.repeat(20)}`
const decode = (fields: object) =>
  decodeUserOperation({ sender: A, nonce: '0x1', ...fields }, new Place(undefined, 'op'))
const half = (value: number) => value.toString(16).padStart(32, '0')

it('decodes the packed and unpacked forms of a user operation alike', () => {
  const packed = decode({
    initCode: `${F}1234`,
    callData: '0x05',
    accountGasLimits: `0x${half(1)}${half(2)}`,
    gasFees: `0x${half(3)}${half(4)}`,
    paymasterAndData: `${P}${half(5)}${half(6)}77`,
    signature: '0x99',
  })
  const unpacked = decode({
    ...{ factory: F, factoryData: '0x1234', callData: '0x05', verificationGasLimit: '0x1', callGasLimit: '0x2' },
    ...{ maxPriorityFeePerGas: '0x3', maxFeePerGas: '0x4', paymaster: P, paymasterVerificationGasLimit: '0x5' },
    ...{ paymasterPostOpGasLimit: '0x6', paymasterData: '0x77', signature: '0x99' },
  })
  expect(packed).toEqual(unpacked)
  expect(packed).toEqual({
    ...{ sender: A, nonce: 1n, initCode: `${F}1234`, callData: '0x05', signature: '0x99' },
    ...{ verificationGasLimit: 1n, callGasLimit: 2n, maxPriorityFeePerGas: 3n, maxFeePerGas: 4n },
    paymaster: { address: P, verificationGasLimit: 5n, postOpGasLimit: 6n, data: '0x77' },
  })
})

it('treats empty fields of a user operation as absent', () => {
  const empty = { initCode: '0x', callData: '0x', paymasterAndData: '0x', signature: '0x' }
  expect(decode(empty)).toEqual({ sender: A, nonce: 1n, initCode: '0x', callData: '0x' })
  expect(decode({ factory: null, paymaster: null, paymasterData: null })).toEqual(decode({}))
})

it('decodes an EIP-7702 delegation, signed or unsigned', () => {
  const auth = { chainId: '0x1', address: F, nonce: '0x0' }
  expect(decode({ factory: '0x7702', eip7702Auth: auth })).toMatchObject({
    initCode: `0x7702${'0'.repeat(36)}`,
    authorization: { address: F, authority: A },
  })
  const signed = decode({ eip7702Auth: { ...auth, yParity: '0x0', r: '0x1', s: '0x2' } }).authorization
  expect([signed?.authority, signed?.s]).toEqual([undefined, 2n])
})

it("appends the paymaster's signature to its data (v0.9)", () => {
  const { paymaster } = decode({ paymaster: P, paymasterData: '0x77', paymasterSignature: '0xabcd' })
  expect(paymaster?.data).toBe('0x77abcd000222e325a297439656')
})

it.each([
  [{ gasFees: '0x01' }, 'op.gasFees: expected two values of 16 bytes'],
  [
    { accountGasLimits: `0x${half(1)}${half(2)}`, maxFeePerGas: '0x1' },
    'op: `accountGasLimits` is of the packed form, `maxFeePerGas` of the unpacked one',
  ],
  [{ initCode: '0x', callGasLimit: '0x1' }, 'is of EntryPoint v0.6, which is not supported'],
  [{ initCode: '0x1234' }, 'op.initCode: expected a factory of 20 bytes'],
  [{ paymasterAndData: P }, 'op.paymasterAndData: expected a paymaster of 20 bytes'],
  [{ factoryData: '0x12' }, 'op.factoryData: is set without `factory`'],
  [{ paymasterData: '0x12' }, 'op.paymasterData: is set without `paymaster`'],
  [{ callGasLimit: `0x1${half(0)}` }, 'op.callGasLimit: expected a hex quantity of at most 128 bits'],
  [{ sender: '0x' }, 'op.sender: expected an address'],
  [{ calldata: '0x' }, 'did you mean `callData`?'],
])('rejects a user operation with %j', (fields, problem) => {
  expect(() => decode(fields)).toThrow(problem)
})
