import { EVMError } from '@ethereumjs/evm'
import type { Address } from '@upfront/protocol'
import { type EthereumFork, isForkActive } from '@upfront/simulation'
import { hexOf } from '../state/bytes.js'
import { isModexpTooLong } from './modexp-gas.js'

const { errorMessages } = EVMError
const BLAKE2F_INPUT = 213
const WORD = 32
const PAIRING_GAS = 45_000n
const PAIR_GAS = 34_000n
const PAIR_BYTES = 192
const NOT_CANONICAL = 'invalid fp.Element encoding'
const BN254_PRIME = 0x30644e72e131a029b85045b68181585d97816a916871ca8d3c208c16d87cfd47n

/** Why a precompile failed, in geth's words. `precompile` is its usual address, `gas` what it was given. */
export function precompileFailure(
  precompile: Address,
  error: string | undefined,
  input: Uint8Array,
  gas: bigint,
  fork: EthereumFork,
): string {
  switch (Number(precompile)) {
    case 5:
      // EthereumJS reports lengths above 1,024 bytes as a lack of gas.
      return isForkActive(fork, 'osaka') && isModexpTooLong(input, gas)
        ? 'one or more of base/exponent/modulus length exceeded 1024 bytes'
        : 'out of gas'
    case 6:
      return error === errorMessages.OUT_OF_GAS ? 'out of gas' : badPoint(input, 4)
    case 7:
      return error === errorMessages.OUT_OF_GAS ? 'out of gas' : badPoint(input, 2)
    case 8:
      if (error === errorMessages.OUT_OF_GAS || gas < pairingGas(input)) return 'out of gas'
      if (error === errorMessages.INVALID_INPUT_LENGTH) return 'bad elliptic curve pairing size'
      return badPoint(input, input.length / WORD, PAIR_BYTES / WORD)
    case 9:
      if (error !== errorMessages.OUT_OF_RANGE) return 'out of gas'
      if (input.length !== BLAKE2F_INPUT) return 'invalid input length'
      // geth charges a unit of gas for each round before it checks the flag.
      return gas < new DataView(input.buffer, input.byteOffset).getUint32(0) ? 'out of gas' : 'invalid final flag'
    case 10:
      if (error === errorMessages.INVALID_INPUT_LENGTH) return 'invalid input length'
      if (error === errorMessages.INVALID_COMMITMENT) return 'mismatched versioned hash'
      return error === errorMessages.INVALID_PROOF
        ? "error verifying kzg proof: can't verify opening proof"
        : 'out of gas'
    default:
      return gas < blsGas(Number(precompile), input) ? 'out of gas' : blsFailure(error)
  }
}

function pairingGas(input: Uint8Array): bigint {
  return PAIRING_GAS + BigInt(Math.floor(input.length / PAIR_BYTES)) * PAIR_GAS
}

/** What is wrong with the first invalid point of alt_bn128 in the input's `words` words; in each group the point of G1 comes first. */
function badPoint(input: Uint8Array, words: number, group = 2): string {
  for (let start = 0; start < words; start += group) {
    const coordinates = Array.from({ length: group }, (_, index) => wordAt(input, start + index))
    const [x, y] = coordinates as [bigint, bigint]
    if (x >= BN254_PRIME || y >= BN254_PRIME) return NOT_CANONICAL
    if ((x !== 0n || y !== 0n) && (y * y - x ** 3n - 3n) % BN254_PRIME !== 0n) break
    if (coordinates.some((coordinate) => coordinate >= BN254_PRIME)) return NOT_CANONICAL
  }
  return 'point is not on curve'
}

function wordAt(input: Uint8Array, index: number): bigint {
  const word = new Uint8Array(WORD)
  word.set(input.subarray(index * WORD, index * WORD + WORD))
  return BigInt(hexOf(word))
}

/** EIP-2537. Multiplications need no price here: EthereumJS charges for them before it checks their length. */
function blsGas(precompile: number, input: Uint8Array): bigint {
  if (precompile === 15) return 37_700n + BigInt(Math.floor(input.length / 384)) * 32_600n
  return { 11: 375n, 13: 600n, 16: 5_500n, 17: 23_800n }[precompile] ?? 0n
}

function blsFailure(error: string | undefined): string {
  switch (error) {
    case errorMessages.BLS_12_381_INPUT_EMPTY:
    case errorMessages.BLS_12_381_INVALID_INPUT_LENGTH:
      return 'invalid input length'
    case errorMessages.BLS_12_381_POINT_NOT_ON_CURVE:
      // EthereumJS reports it where the sixteen bytes above a field element are not zero.
      return 'invalid field element top bytes'
    case errorMessages.REVERT:
      return 'invalid point: not on curve'
    default:
      return error ?? ''
  }
}
