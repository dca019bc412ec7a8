import type { PlannedCall } from '@upfront/simulation'
import { uint256 } from '../state/bytes.js'

/** Wei per gas. */
export interface CallFees {
  /** The sender pays it. */
  gasPrice: bigint
  cap: bigint
  tipCap: bigint
  /** The part of `gasPrice` that the fee recipient gets. */
  tip: bigint
}

/** EIP-1559. A call without any price pays none, whatever the base fee. */
export function effectiveFees(
  { gasPrice, maxFeePerGas = 0n, maxPriorityFeePerGas = 0n }: PlannedCall,
  baseFee: bigint,
): CallFees {
  if (gasPrice !== undefined)
    return { gasPrice, cap: gasPrice, tipCap: gasPrice, tip: tipOf(gasPrice, gasPrice, gasPrice, baseFee) }
  const free = maxFeePerGas === 0n && maxPriorityFeePerGas === 0n
  const wanted = uint256(maxPriorityFeePerGas + baseFee)
  const price = free ? 0n : wanted < maxFeePerGas ? wanted : maxFeePerGas
  return {
    gasPrice: price,
    cap: maxFeePerGas,
    tipCap: maxPriorityFeePerGas,
    tip: tipOf(price, maxFeePerGas, maxPriorityFeePerGas, baseFee),
  }
}

function tipOf(price: bigint, cap: bigint, tipCap: bigint, baseFee: bigint): bigint {
  return cap === 0n && tipCap === 0n ? 0n : price - baseFee
}
