import { decodeFunctionResult, encodeFunctionData, erc20Abi, formatUnits, type Hex } from 'viem'
import { call } from '../rpc.js'

/** How amounts of a token are written. */
export interface TokenTerms {
  decimals: number
  symbol: string
  /** An amount of its smallest unit: `0.01 USDC`. */
  inWords(amount: bigint): string
}

/** Asks the token. @throws Error where it does not answer as ERC-20 says */
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
