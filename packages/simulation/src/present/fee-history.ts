import { type BlockHeader, toQuantity } from '@upfront/protocol'
import { baseFeeParameters, nextBaseFee } from '../plan/base-fee.js'
import { blobBaseFee, GAS_PER_BLOB, nextExcessBlobGas } from '../plan/blob-gas.js'
import type { BlockRules, ChainRules } from '../plan/chain-rules.js'
import { rulesOf } from '../plan/infer-chain-rules.js'

/** A transaction's priority fee as paid to the fee recipient. */
export interface PaidTip {
  gasUsed: bigint
  /** Wei per gas. */
  tip: bigint
}

/**
 * `eth_feeHistory` of an Ethereum chain, as in geth (`eth/gasprice/feehistory.go`).
 * @param headers oldest first, at least one, each the child of the one before
 * @param tips of each block's transactions; absent if no percentiles are asked for
 */
export function presentFeeHistory(
  headers: readonly BlockHeader[],
  chain: ChainRules,
  percentiles: readonly number[],
  tips?: readonly (readonly PaidTip[])[],
) {
  const newest = headers.at(-1)!
  const rules = headers.map((header) => rulesOf(header, chain))
  const fees = headers.map(({ baseFeePerGas }) => toQuantity(baseFeePerGas ?? 0n))
  const blobFees = headers.map((header, at) => toQuantity(blobFeeOf(header.excessBlobGas, rules[at]!)))
  return {
    oldestBlock: toQuantity(headers[0]!.number),
    ...(tips && { reward: headers.map(({ gasUsed }, at) => rewards(tips[at] ?? [], gasUsed, percentiles)) }),
    baseFeePerGas: [...fees, toQuantity(feeAfter(newest, rules.at(-1)!, chain))],
    gasUsedRatio: headers.map(({ gasUsed, gasLimit }) => Number(gasUsed) / Number(gasLimit)),
    baseFeePerBlobGas: [...blobFees, toQuantity(blobFeeAfter(newest, rules.at(-1)!))],
    blobGasUsedRatio: headers.map(({ blobGasUsed = 0n }, at) => {
      const { max = 0 } = rules[at]!.blob ?? {}
      return max === 0 ? 0 : Number(blobGasUsed) / Number(BigInt(max) * GAS_PER_BLOB)
    }),
  }
}

/** `eth_blobBaseFee` at this block, in wei per blob gas. */
export function blobFeeIn(header: BlockHeader, chain: ChainRules): bigint {
  return blobFeeOf(header.excessBlobGas, rulesOf(header, chain))
}

function feeAfter(header: BlockHeader, rules: BlockRules, chain: ChainRules): bigint {
  return nextBaseFee(header, rules, baseFeeParameters(chain, header, rules, rules))
}

function blobFeeOf(excess: bigint | undefined, { blob }: BlockRules): bigint {
  return excess === undefined || blob === undefined ? 0n : blobBaseFee(excess, blob.baseFeeUpdateFraction)
}

function blobFeeAfter(header: BlockHeader, rules: BlockRules): bigint {
  return header.excessBlobGas === undefined ? 0n : blobFeeOf(nextExcessBlobGas(header, rules), rules)
}

/** For each percentile: the tip of the transaction at that part of the block's gas, transactions ordered by tip. */
function rewards(tips: readonly PaidTip[], gasUsed: bigint, percentiles: readonly number[]): string[] {
  const ordered = tips.toSorted((a, b) => (a.tip < b.tip ? -1 : Number(a.tip > b.tip)))
  let at = 0
  let sum = ordered[0]?.gasUsed ?? 0n
  return percentiles.map((percentile) => {
    const threshold = BigInt(Math.floor((Number(gasUsed) * percentile) / 100))
    while (sum < threshold && at < ordered.length - 1) {
      at += 1
      sum += ordered[at]!.gasUsed
    }
    return toQuantity(ordered[at]?.tip ?? 0n)
  })
}
