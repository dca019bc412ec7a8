import { EVMError } from '@ethereumjs/evm'
import type { Address } from '@upfront/protocol'
import { type EthereumFork, isForkActive, type PrecompileFault } from '@upfront/simulation'
import { hexOf } from '../state/bytes.js'

const { errorMessages } = EVMError
const BLAKE2F_INPUT = 213
const WORD = 32
const PAIR_WORDS = 6
const MODEXP_LENGTH = 1_024n
const BN254_PRIME = 0x30644e72e131a029b85045b68181585d97816a916871ca8d3c208c16d87cfd47n
/** Of the precompiles of EIP-2537 whose input's length EthereumJS checks before it charges. */
const BLS_GAS: Record<number, bigint> = { 11: 375n, 13: 600n, 16: 5_500n, 17: 23_800n }

/** What is wrong with a precompile's input. `precompile` is its usual address, `gas` what it was given. */
export function precompileFault(
  precompile: Address,
  error: string | undefined,
  input: Uint8Array,
  gas: bigint,
  fork: EthereumFork,
): PrecompileFault {
  const isOutOfGas = error === errorMessages.OUT_OF_GAS
  switch (Number(precompile)) {
    case 5:
      // EthereumJS reports lengths above 1,024 bytes (EIP-7823) as a lack of gas.
      return isForkActive(fork, 'osaka') && [0, 1, 2].some((index) => wordAt(input, index) > MODEXP_LENGTH)
        ? 'modexpLength'
        : 'outOfGas'
    case 6:
      return isOutOfGas ? 'outOfGas' : badPoint(input, 4)
    case 7:
      return isOutOfGas ? 'outOfGas' : badPoint(input, 2)
    case 8:
      if (isOutOfGas) return 'outOfGas'
      return error === errorMessages.INVALID_INPUT_LENGTH
        ? 'pairingLength'
        : badPoint(input, input.length / WORD, PAIR_WORDS)
    case 9:
      if (error !== errorMessages.OUT_OF_RANGE) return 'outOfGas'
      if (input.length !== BLAKE2F_INPUT) return 'inputLength'
      // geth charges a unit of gas for each round before it checks the flag.
      return gas < new DataView(input.buffer, input.byteOffset).getUint32(0) ? 'outOfGas' : 'finalFlag'
    case 10:
      if (error === errorMessages.INVALID_INPUT_LENGTH) return 'inputLength'
      if (error === errorMessages.INVALID_COMMITMENT) return 'versionedHash'
      return error === errorMessages.INVALID_PROOF ? 'kzgProof' : 'outOfGas'
    default:
      return gas < (BLS_GAS[Number(precompile)] ?? 0n) ? 'outOfGas' : blsFault(error, Number(precompile) === 15)
  }
}

/** What is wrong with the first invalid point of alt_bn128 in the input's `words` words; in each group the point of G1 comes first. */
function badPoint(input: Uint8Array, words: number, group = 2): PrecompileFault {
  for (let start = 0; start < words; start += group) {
    const coordinates = Array.from({ length: group }, (_, index) => wordAt(input, start + index))
    const [x, y] = coordinates as [bigint, bigint]
    if (x >= BN254_PRIME || y >= BN254_PRIME) return 'fieldElement'
    if ((x !== 0n || y !== 0n) && (y * y - x ** 3n - 3n) % BN254_PRIME !== 0n) break
    if (coordinates.some((coordinate) => coordinate >= BN254_PRIME)) return 'fieldElement'
  }
  return 'notOnCurve'
}

function wordAt(input: Uint8Array, index: number): bigint {
  const word = new Uint8Array(WORD)
  word.set(input.subarray(index * WORD, index * WORD + WORD))
  return BigInt(hexOf(word))
}

function blsFault(error: string | undefined, isPairing: boolean): PrecompileFault {
  switch (error) {
    case errorMessages.BLS_12_381_INPUT_EMPTY:
    case errorMessages.BLS_12_381_INVALID_INPUT_LENGTH:
      return isPairing ? 'blsPairingLength' : 'inputLength'
    case errorMessages.BLS_12_381_POINT_NOT_ON_CURVE:
      // EthereumJS reports it where the sixteen bytes above a field element are not zero.
      return 'blsFieldElement'
    case errorMessages.REVERT:
      return 'blsNotOnCurve'
    case errorMessages.OUT_OF_GAS:
      return 'outOfGas'
    default:
      return 'unknown'
  }
}
