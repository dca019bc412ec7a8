import { formatUnits, parseUnits } from 'viem'

export interface Margin {
  /** For example `12.3 %`, or `12.3 times`. */
  shareOfGas: string
  /** In tokens, decimal. The amount lost if it is a loss. */
  left: string
  isLoss: boolean
}

/**
 * What remains of earnings after gas.
 * @param settled in the token's smallest unit
 * @param fees in wei
 * @param price of 1 ETH in the token, decimal
 * @returns undefined if `price` is invalid
 */
export function marginOf(settled: bigint, decimals: number, fees: bigint, price: string): Margin | undefined {
  if (!/^\d+(\.\d+)?$/.test(price.trim()) || settled === 0n) return undefined
  const cost = (fees * parseUnits(price.trim(), decimals)) / 10n ** 18n
  const isLoss = cost > settled
  const tenths = (cost * (isLoss ? 10n : 1_000n)) / settled
  return {
    shareOfGas: `${tenths / 10n}.${tenths % 10n} ${isLoss ? 'times' : '%'}`,
    left: formatUnits(isLoss ? cost - settled : settled - cost, decimals),
    isLoss,
  }
}
