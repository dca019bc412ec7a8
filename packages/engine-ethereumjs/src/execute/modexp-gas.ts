import { hexOf } from '../state/bytes.js'

const MAX_LENGTH = 1_024n
const MIN_GAS = 500n

/** Whether a length is beyond what Osaka allows (EIP-7823) in an input that `gas` pays for (EIP-7883). */
export function isModexpTooLong(input: Uint8Array, gas: bigint): boolean {
  const [base, exponent, modulus] = [0, 32, 64].map((at) => numberAt(input, at, 32)) as [bigint, bigint, bigint]
  if (base <= MAX_LENGTH && exponent <= MAX_LENGTH && modulus <= MAX_LENGTH) return false
  const longest = max(base, modulus)
  const words = (longest + 7n) / 8n
  const complexity = longest <= 32n ? 16n : 2n * words * words
  const headBytes = exponent < 32n ? Number(exponent) : 32
  const head = base < BigInt(input.length) ? numberAt(input, 96 + Number(base), headBytes) : 0n
  const headBits = head === 0n ? 0n : BigInt(head.toString(2).length - 1)
  const rounds = (exponent > 32n ? 16n * (exponent - 32n) : 0n) + headBits
  const price = max(complexity * max(rounds, 1n), MIN_GAS)
  return gas >= price
}

/** Zero beyond the input's end. */
function numberAt(input: Uint8Array, at: number, length: number): bigint {
  const bytes = new Uint8Array(length)
  bytes.set(input.subarray(at, at + length))
  return length === 0 ? 0n : BigInt(hexOf(bytes))
}

function max(a: bigint, b: bigint): bigint {
  return a > b ? a : b
}
