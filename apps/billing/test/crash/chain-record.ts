import { setTimeout as sleep } from 'node:timers/promises'
import { USDC_ADDRESS } from '@upfront/devnet'
import type { Address } from '@upfront/protocol'
import { BlockNotFoundError, createPublicClient, http, type PublicClient } from 'viem'
import { type RpcReceipt, readReceipt } from '../../src/chain/receipt.js'
import { batchPart, settlementsOf } from '../../src/chain/settlement-batch.js'
import { decodeSettlement, TRANSFER_TOPIC } from '../../src/chain/settlement-call.js'
import { rpc } from '../support/on-chain.js'

const USDC = USDC_ADDRESS.toLowerCase() as Address

export interface OnChainSettlement {
  hash: string
  succeeded: boolean
  /** By Transfer events, smallest unit. */
  moved: bigint
}

/** All settlements by the nonce of their authorization: through a proxy or the token itself, alone or in a batch. */
export async function readSettlements(rpcUrl: string): Promise<Map<bigint, OnChainSettlement[]>> {
  const client = createPublicClient({ transport: http(rpcUrl) })
  const settlements = new Map<bigint, OnChainSettlement[]>()
  const head = await client.getBlockNumber()
  for (let blockNumber = 1n; blockNumber <= head; blockNumber++) {
    const { transactions } = await readBlock(client, blockNumber)
    for (const { to, input, hash } of transactions) {
      const called = (to?.toLowerCase() as Address | undefined) ?? null
      const direct = called === USDC ? decodeSettlement(called, input) : null
      const places =
        direct === null
          ? settlementsOf({ to: called, input })
          : [{ ...direct, to: USDC, target: USDC, item: 0, items: 1 }]
      if (places.length === 0) continue
      const whole = readReceipt((await rpc(rpcUrl, 'eth_getTransactionReceipt', [hash])) as RpcReceipt)
      for (const place of places) {
        const { succeeded, logs } = place.to === place.target ? whole : batchPart(whole, place)
        const moved = logs
          .filter(({ address, topics }) => address === USDC && topics[0] === TRANSFER_TOPIC)
          .reduce((total, { data }) => total + BigInt(data), 0n)
        settlements.set(place.nonce, [...(settlements.get(place.nonce) ?? []), { hash, succeeded, moved }])
      }
    }
  }
  return settlements
}

/** Anvil reports a head shortly before it can return that block. */
async function readBlock(client: PublicClient, blockNumber: bigint, attempts = 100) {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await client.getBlock({ blockNumber, includeTransactions: true })
    } catch (error) {
      if (!(error instanceof BlockNotFoundError) || attempt === attempts) throw error
      await sleep(50)
    }
  }
}
