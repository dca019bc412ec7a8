import { type EthereumFork, isForkActive, type PlannedCall } from '@upfront/simulation'

const TRANSACTION = 21_000n
const CREATION = 53_000n
const ZERO_BYTE = 4n
const NON_ZERO_BYTE = 16n
/** EIP-3860 */
const INIT_CODE_WORD = 2n
/** EIP-2930 */
const ACCESS_LIST_ADDRESS = 2_400n
const ACCESS_LIST_SLOT = 1_900n
/** EIP-7702, PER_EMPTY_ACCOUNT_COST */
export const AUTHORIZATION = 25_000n
/** EIP-7623 */
const FLOOR_TOKEN = 10n
const TOKENS_PER_NON_ZERO_BYTE = 4n

export function intrinsicGas(call: PlannedCall, input: Uint8Array, fork: EthereumFork): bigint {
  const { zero, nonZero } = countBytes(input)
  const creation = call.to === null
  let gas = (creation ? CREATION : TRANSACTION) + zero * ZERO_BYTE + nonZero * NON_ZERO_BYTE
  if (creation && isForkActive(fork, 'shanghai')) gas += BigInt(Math.ceil(input.length / 32)) * INIT_CODE_WORD
  gas += BigInt(call.authorizationList?.length ?? 0) * AUTHORIZATION
  for (const { storageKeys } of call.accessList) {
    gas += ACCESS_LIST_ADDRESS + BigInt(storageKeys.length) * ACCESS_LIST_SLOT
  }
  return gas
}

/** EIP-7623: the least that a transaction uses, by its calldata. */
export function floorGas(input: Uint8Array, fork: EthereumFork): bigint {
  if (!isForkActive(fork, 'prague')) return 0n
  const { zero, nonZero } = countBytes(input)
  return TRANSACTION + (zero + nonZero * TOKENS_PER_NON_ZERO_BYTE) * FLOOR_TOKEN
}

function countBytes(input: Uint8Array): { zero: bigint; nonZero: bigint } {
  let zero = 0
  for (const byte of input) if (byte === 0) zero++
  return { zero: BigInt(zero), nonZero: BigInt(input.length - zero) }
}
