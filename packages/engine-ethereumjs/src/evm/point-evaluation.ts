import { createHash } from 'node:crypto'
import type { PrecompileFunc } from '@ethereumjs/evm'
import { EVMError } from '@ethereumjs/evm'
import { bls12_381 } from '@noble/curves/bls12-381.js'
import { bytesOf, EMPTY_BYTES, hash32, hexOf } from '../state/bytes.js'

const GAS = 50_000n
const INPUT_BYTES = 192
const VERSION = 0x01
const FIELD_ELEMENTS_PER_BLOB = 4_096n
const { G1, G2, fields } = bls12_381
const MODULUS = fields.Fr.ORDER
/** τ·G2 of the KZG ceremony: the only part of its setup that checking a proof needs. */
const TAU_G2 =
  'b5bfd7dd8cdeb128843bc287230af38926187075cbfbefa81009a2ce615ac53d2914e5870cb452d2afaaab24f3499f72185cbfee53492714734429b7b38608e23926c911cceceac9a36851477ba4c60b087041de621000edc98edada20c1def2'

const OUTPUT = bytesOf(`0x${hash32(FIELD_ELEMENTS_PER_BLOB).slice(2)}${hash32(MODULUS).slice(2)}`)

/** The precompile of EIP-4844. EthereumJS' own needs a KZG library with the whole setup. */
export const pointEvaluation: PrecompileFunc = ({ data, gasLimit }) => {
  const failed = (error: keyof typeof EVMError.errorMessages) => ({
    returnValue: EMPTY_BYTES,
    executionGasUsed: gasLimit,
    exceptionError: new EVMError(EVMError.errorMessages[error]),
  })
  if (gasLimit < GAS) return failed('OUT_OF_GAS')
  if (data.length !== INPUT_BYTES) return failed('INVALID_INPUT_LENGTH')
  const commitment = data.subarray(96, 144)
  const versionedHash = createHash('sha256').update(commitment).digest()
  versionedHash[0] = VERSION
  if (!versionedHash.equals(data.subarray(0, 32))) return failed('INVALID_COMMITMENT')
  if (!isOpening(commitment, wordAt(data, 32), wordAt(data, 64), data.subarray(144))) return failed('INVALID_PROOF')
  return { returnValue: OUTPUT, executionGasUsed: GAS }
}

/** Whether the committed polynomial is `y` at `z`: e(C - y·G1, G2) = e(proof, (τ - z)·G2). */
function isOpening(commitment: Uint8Array, z: bigint, y: bigint, proof: Uint8Array): boolean {
  if (z >= MODULUS || y >= MODULUS) return false
  try {
    const pairs = [
      { g1: point(commitment).subtract(G1.Point.BASE.multiplyUnsafe(y)), g2: G2.Point.BASE.negate() },
      { g1: point(proof), g2: G2.Point.fromHex(TAU_G2).subtract(G2.Point.BASE.multiplyUnsafe(z)) },
    ]
    const product = bls12_381.pairingBatch(pairs.filter(({ g1 }) => !g1.is0()))
    return fields.Fp12.eql(product, fields.Fp12.ONE)
  } catch {
    // The bytes encode no point of the group.
    return false
  }
}

function point(bytes: Uint8Array) {
  const decoded = G1.Point.fromBytes(bytes)
  decoded.assertValidity()
  return decoded
}

function wordAt(data: Uint8Array, offset: number): bigint {
  return BigInt(hexOf(data.subarray(offset, offset + 32)))
}
