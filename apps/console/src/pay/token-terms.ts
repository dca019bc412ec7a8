import { decodeFunctionResult, encodeFunctionData, erc20Abi, formatUnits, type Hex } from 'viem'
import { call } from '../rpc.js'

/** How to format amounts of a token. */
export interface TokenTerms {
  decimals: number
  symbol: string
  /** Formats an amount of the smallest unit, such as `0.01 USDC`. */
  inWords(amount: bigint): string
}

/** Queries the token. @throws Error if it does not answer as ERC-20 requires */
export async function tokenTerms(token: Hex): Promise<TokenTerms> {
  const [decimals, symbol] = await Promise.all([read(token, 'decimals'), read(token, 'symbol')])
  return {
    decimals: Number(decimals),
    symbol: String(symbol),
    inWords: (amount) => `${formatUnits(amount, Number(decimals))} ${symbol}`,
  }
}

async function read(token: Hex, functionName: 'decimals' | 'symbol'): Promise<string | number> {
  const data = encodeFunctionData({ abi: erc20Abi, functionName })
  const { result } = await call<Hex>('eth_call', [{ to: token, data }, 'latest'])
  return decodeFunctionResult({ abi: erc20Abi, functionName, data: result })
}
