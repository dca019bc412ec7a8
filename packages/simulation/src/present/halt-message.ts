import type { Halt, PrecompileFault } from '../engine/halt.js'

const OUT_OF_GAS = 'out of gas'

/** core/vm/errors.go. geth's reasons for running out of gas are included only if they do not depend on a price. */
const MESSAGES = {
  outOfGas: OUT_OF_GAS,
  reentrancySentry: `${OUT_OF_GAS}: not enough gas for reentrancy sentry`,
  returnDataOutOfBounds: 'return data out of bounds',
  stackOverflow: 'stack limit reached 1024 (1023)',
  invalidJump: 'invalid jump destination',
  addressCollision: 'contract address collision',
  codeStorageOutOfGas: 'contract creation code storage out of gas',
  codeStartsWithEf: 'invalid code: must not begin with 0xef',
  nonceOverflow: 'nonce uint64 overflow',
  callTooDeep: 'max call depth exceeded',
  insufficientBalance: 'insufficient balance for transfer',
  balanceOverflow: 'balance overflow',
  precompileFailed: 'precompile failed',
}

/** core/vm/contracts.go and its libraries. */
const PRECOMPILE_MESSAGES: Record<PrecompileFault, string> = {
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
}

/** Whether more gas might have helped. */
export function isOutOfGas(halt: Halt): boolean {
  return haltMessage(halt).startsWith(OUT_OF_GAS)
}

/** geth's message for a halt. */
export function haltMessage(halt: Halt): string {
  switch (halt.kind) {
    case 'codeTooLarge':
      return `max code size exceeded: code size ${halt.size} limit ${halt.limit}`
    case 'invalidOpcode':
      return `invalid opcode: ${halt.opcode}`
    case 'stackUnderflow':
      return `stack underflow (${halt.height} <=> ${halt.inputs})`
    case 'writeProtection':
      return halt.isPriced ? `${OUT_OF_GAS}: write protection` : 'write protection'
    case 'precompile':
      return PRECOMPILE_MESSAGES[halt.fault]
    case 'other':
      return halt.name
    default:
      return MESSAGES[halt.kind]
  }
}
