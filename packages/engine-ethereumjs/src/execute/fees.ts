import type { BlockHeader } from '@upfront/protocol'
import type { BlobParameters, BlockRules } from '@upfront/simulation'

export const BLOB_GAS = 131_072n

const ELASTICITY = 2n
const BASE_FEE_CHANGE_DENOMINATOR = 8n
/** EIP-7918 */
const BLOB_BASE_COST = 8_192n

/** EIP-1559, in wei. */
export function nextBaseFee({ gasLimit, gasUsed, baseFeePerGas = 0n }: BlockHeader): bigint {
  const target = gasLimit / ELASTICITY
  if (gasUsed === target || target === 0n) return baseFeePerGas
  if (gasUsed > target) {
    const delta = (baseFeePerGas * (gasUsed - target)) / target / BASE_FEE_CHANGE_DENOMINATOR
    return baseFeePerGas + (delta > 1n ? delta : 1n)
  }
  return baseFeePerGas - (baseFeePerGas * (target - gasUsed)) / target / BASE_FEE_CHANGE_DENOMINATOR
}

/** EIP-4844, from Osaka on bounded by EIP-7918. `rules` are those of the new block. */
export function nextExcessBlobGas(parent: BlockHeader, rules: BlockRules, blob: BlobParameters): bigint {
  const { excessBlobGas = 0n, blobGasUsed = 0n, baseFeePerGas = 0n } = parent
  const total = excessBlobGas + blobGasUsed
  const target = BigInt(blob.target) * BLOB_GAS
  if (total < target) return 0n
  if (rules.fork === 'osaka' && BLOB_BASE_COST * baseFeePerGas > BLOB_GAS * blobBaseFee(excessBlobGas, blob)) {
    return excessBlobGas + (blobGasUsed * BigInt(blob.max - blob.target)) / BigInt(blob.max)
  }
  return total - target
}

/** Wei per blob gas: e^(excess / fraction), by its Taylor series (EIP-4844). */
export function blobBaseFee(excessBlobGas: bigint, { baseFeeUpdateFraction: fraction }: BlobParameters): bigint {
  let sum = 0n
  let term = fraction
  for (let index = 1n; term > 0n; index++) {
    sum += term
    term = (term * excessBlobGas) / fraction / index
  }
  return sum / fraction
}
