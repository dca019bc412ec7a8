import { UPTO_PERMIT2_PROXY_ADDRESS, USDC_ADDRESS, usdcAbi } from '@upfront/devnet'
import { x402UptoPermit2ProxyABI } from '@x402/evm'
import { createPublicClient, decodeFunctionData, http, parseEventLogs } from 'viem'

export interface OnChainSettlement {
  hash: string
  succeeded: boolean
  /** By Transfer events, smallest unit. */
  moved: bigint
}

/** Every transaction to the upto proxy, by the Permit2 nonce of its authorization. */
export async function readSettlements(rpcUrl: string): Promise<Map<bigint, OnChainSettlement[]>> {
  const client = createPublicClient({ transport: http(rpcUrl) })
  const settlements = new Map<bigint, OnChainSettlement[]>()
  const head = await client.getBlockNumber()
  for (let blockNumber = 1n; blockNumber <= head; blockNumber++) {
    const { transactions } = await client.getBlock({ blockNumber, includeTransactions: true })
    for (const { to, input, hash } of transactions) {
      if (to?.toLowerCase() !== UPTO_PERMIT2_PROXY_ADDRESS.toLowerCase()) continue
      const { args } = decodeFunctionData({ abi: x402UptoPermit2ProxyABI, data: input })
      const { nonce } = (args as unknown as [{ nonce: bigint }])[0]
      const receipt = await client.getTransactionReceipt({ hash })
      const transfers = parseEventLogs({ abi: usdcAbi, eventName: 'Transfer', logs: receipt.logs })
      const moved = transfers
        .filter(({ address }) => address.toLowerCase() === USDC_ADDRESS.toLowerCase())
        .reduce((total, { args: { value } }) => total + value, 0n)
      settlements.set(nonce, [
        ...(settlements.get(nonce) ?? []),
        { hash, succeeded: receipt.status === 'success', moved },
      ])
    }
  }
  return settlements
}
