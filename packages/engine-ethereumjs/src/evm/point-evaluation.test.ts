import { createHash } from 'node:crypto'
import { concatBytes } from '@ethereumjs/util'
import { bls12_381 } from '@noble/curves/bls12-381.js'
import { bytesOf, hash32, hexOf } from '../state/bytes.js'
import { pointEvaluation } from './point-evaluation.js'
import { SimulationEvm } from './simulation-evm.js'

const G1 = bls12_381.G1.Point
const common = new SimulationEvm(1n, 'osaka').common
const INFINITY = G1.ZERO.toBytes()

function input(commitment: Uint8Array, z: bigint, y: bigint, proof: Uint8Array) {
  const hash = createHash('sha256').update(commitment).digest()
  hash[0] = 1
  return concatBytes(hash, bytesOf(hash32(z)), bytesOf(hash32(y)), commitment, proof)
}

async function run(data: Uint8Array, gasLimit = 50_000n) {
  const { exceptionError, returnValue, executionGasUsed } = await pointEvaluation({
    data,
    gasLimit,
    common,
  } as Parameters<typeof pointEvaluation>[0])
  return { error: exceptionError?.error, returned: hexOf(returnValue), gas: executionGasUsed }
}

describe('pointEvaluation', () => {
  // The constant polynomial 3: committed to as 3·G1, opened anywhere by the point at infinity.
  const constant = input(G1.BASE.multiply(3n).toBytes(), 5n, 3n, INFINITY)

  it('accepts an opening', async () => {
    expect(await run(constant)).toEqual({
      error: undefined,
      gas: 50_000n,
      returned:
        '0x000000000000000000000000000000000000000000000000000000000000100073eda753299d7d483339d80809a1d80553bda402fffe5bfeffffffff00000001',
    })
  })

  it.each([
    ['another value', input(G1.BASE.multiply(3n).toBytes(), 5n, 4n, INFINITY), 'kzg proof invalid'],
    ['a value beyond the field', input(G1.BASE.multiply(3n).toBytes(), 5n, 2n ** 255n, INFINITY), 'kzg proof invalid'],
    ['what is no point', input(new Uint8Array(48).fill(1), 5n, 3n, INFINITY), 'kzg proof invalid'],
    [
      'another hash',
      concatBytes(new Uint8Array(32), constant.subarray(32)),
      'kzg commitment does not match versioned hash',
    ],
    ['another length', constant.subarray(1), 'invalid input length'],
  ])('refuses %s and takes all gas', async (_name, data, error) => {
    expect(await run(data, 60_000n)).toEqual({ error, returned: '0x', gas: 60_000n })
  })

  it('costs 50,000 gas', async () => {
    expect((await run(constant, 49_999n)).error).toBe('out of gas')
  })
})
