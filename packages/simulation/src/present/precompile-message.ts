import type { Halt, PrecompileFault } from '../engine/halt.js'

const OUT_OF_GAS = 'out of gas'

/** core/vm/contracts.go and the libraries that it calls. */
const MESSAGES: Record<PrecompileFault, string> = {
  outOfGas: OUT_OF_GAS,
  inputLength: 'invalid input length',
  modexpLength: 'one or more of base/exponent/modulus length exceeded 1024 bytes',
  pairingLength: 'bad elliptic curve pairing size',
  blsPairingLength: 'invalid input length',
  finalFlag: 'invalid final flag',
  fieldElement: 'invalid fp.Element encoding',
  notOnCurve: 'point is not on curve',
  versionedHash: 'mismatched versioned hash',
  kzgProof: "error verifying kzg proof: can't verify opening proof",
  blsFieldElement: 'invalid field element top bytes',
  blsNotOnCurve: 'invalid point: not on curve',
  g1Subgroup: 'g1 point is not on correct subgroup',
  g2Subgroup: 'g2 point is not on correct subgroup',
  unknown: 'precompile failed',
}

/** Why a precompiled contract failed, in geth's words. Engines look at an input's length first, geth at its price. */
export function precompileMessage({ fault, gas, input }: Extract<Halt, { kind: 'precompile' }>): string {
  const bytes = Buffer.from(input.slice(2), 'hex')
  return gas < priceOf(fault, bytes) ? OUT_OF_GAS : MESSAGES[fault]
}

/** What geth asks for before it finds this fault, where that depends on the input. */
function priceOf(fault: PrecompileFault, input: Buffer): bigint {
  switch (fault) {
    case 'modexpLength':
      return modexpGas(input)
    case 'pairingLength':
      return 45_000n + 34_000n * BigInt(Math.floor(input.length / 192))
    case 'blsPairingLength':
      return 37_700n + 32_600n * BigInt(Math.floor(input.length / 384))
    default:
      return 0n
  }
}

/** EIP-7883: lengths are limited (EIP-7823) since the same fork. */
function modexpGas(input: Buffer): bigint {
  const [base, exponent, modulus] = [0, 32, 64].map((at) => numberAt(input, at, 32)) as [bigint, bigint, bigint]
  const longest = max(base, modulus)
  const words = (longest + 7n) / 8n
  const complexity = longest <= 32n ? 16n : 2n * words * words
  const headBytes = exponent < 32n ? Number(exponent) : 32
  const head = base < BigInt(input.length) ? numberAt(input, 96 + Number(base), headBytes) : 0n
  const headBits = head === 0n ? 0n : BigInt(head.toString(2).length - 1)
  const rounds = (exponent > 32n ? 16n * (exponent - 32n) : 0n) + headBits
  return max(complexity * max(rounds, 1n), 500n)
}

function max(a: bigint, b: bigint): bigint {
  return a > b ? a : b
}

/** Zero beyond the input's end. */
function numberAt(input: Buffer, at: number, length: number): bigint {
  const bytes = Buffer.alloc(length)
  bytes.set(input.subarray(at, at + length))
  return length === 0 ? 0n : BigInt(`0x${bytes.toString('hex')}`)
}
