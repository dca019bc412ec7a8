import type { BlockHeader } from '@upfront/protocol'
import { type BlockRules, FORK_RULES } from './chain-rules.js'

export const GAS_PER_BLOB = 131_072n

/** EIP-7918's BLOB_BASE_COST. */
const BLOB_BASE_COST = 8_192n
const MAX_FEE = (1n << 256n) - 1n

/**
 * Excess blob gas of the block after `parent` (EIP-4844; from Osaka on EIP-7918). 0 on OP-stack chains, and if the rules have no blob
 * parameters.
 * @param rules of the block, not of its parent
 */
export function nextExcessBlobGas(
  parent: Pick<BlockHeader, 'excessBlobGas' | 'blobGasUsed' | 'baseFeePerGas'>,
  rules: BlockRules,
): bigint {
  if (rules.opFork !== undefined || rules.blob === undefined || parent.excessBlobGas === undefined) return 0n
  const { target, max, baseFeeUpdateFraction } = rules.blob
  const used = parent.blobGasUsed ?? 0n
  const total = parent.excessBlobGas + used
  const targetGas = BigInt(target) * GAS_PER_BLOB
  if (total < targetGas) return 0n
  if (FORK_RULES[rules.fork].reservesBlobPrice) {
    const reserve = BLOB_BASE_COST * (parent.baseFeePerGas ?? 0n)
    if (reserve > GAS_PER_BLOB * blobBaseFee(parent.excessBlobGas, baseFeeUpdateFraction))
      return parent.excessBlobGas + (used * BigInt(max - target)) / BigInt(max)
  }
  return total - targetGas
}

/** Blob base fee in wei per blob gas: EIP-4844's `fake_exponential(1, excess, fraction)`, at most 2^256 - 1. */
export function blobBaseFee(excessBlobGas: bigint, baseFeeUpdateFraction: bigint): bigint {
  // e^178 exceeds 2^256. No real chain has such an excess, and the sum below would run for ever.
  if (excessBlobGas / baseFeeUpdateFraction > 178n) return MAX_FEE
  let sum = 0n
  let term = baseFeeUpdateFraction
  for (let i = 1n; term > 0n; i++) {
    sum += term
    term = (term * excessBlobGas) / (baseFeeUpdateFraction * i)
  }
  const fee = sum / baseFeeUpdateFraction
  return fee > MAX_FEE ? MAX_FEE : fee
}
