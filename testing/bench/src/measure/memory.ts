import { setTimeout as sleep } from 'node:timers/promises'
import { DEVNET_ROLES, deployUniswap } from '@upfront/devnet'
import { Pool } from 'undici'
import { createPublicClient, createWalletClient, http, parseEther, TransactionReceiptNotFoundError } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { startAnvilNode } from '../servers/anvil.js'
import { startGateway } from '../servers/gateway.js'
import { residentBytes } from '../servers/process-usage.js'
import { swapV3, tradingSlots, unseenAddress } from '../workloads/calls.js'
import type { SimulationPayload, Stage } from '../workloads/workload.js'
import { simulate } from './load.js'

/** Resident memory of the gateway over time, in megabytes (10⁶ bytes). */
export interface MemoryFigures {
  /** After a tenth of the swaps. */
  early: number
  swaps: number
  blocks: number
  highest: number
}

/**
 * Simulates different swaps (new sender and amount each) on one block, then lets blocks pass with a simulation on each, on a gateway and a
 * node of its own. The node is an anvil, because geth's development chain sometimes stops making blocks.
 */
export async function measureMemory(work: { swaps: number; blocks: number }): Promise<MemoryFigures> {
  const node = await startAnvilNode()
  try {
    const uniswap = await deployUniswap(node.url, DEVNET_ROLES.deployer.privateKey)
    return await measureOn(node.url, { uniswap, trader: DEVNET_ROLES.deployer.address }, work)
  } finally {
    await node.stop()
  }
}

async function measureOn(
  node: string,
  stage: Stage,
  { swaps, blocks }: { swaps: number; blocks: number },
): Promise<MemoryFigures> {
  const gateway = await startGateway(node)
  const pool = new Pool(gateway.url, { connections: 8 })
  let highest = 0
  const look = () => {
    const megabytes = residentBytes(gateway.pid) / 1e6
    highest = Math.max(highest, megabytes)
    return megabytes
  }
  const swap = (index: number): SimulationPayload => {
    const sender = unseenAddress(4, index)
    const stateOverrides = { [stage.uniswap.token0]: { stateDiff: tradingSlots(stage, sender) } }
    const calls = [swapV3(stage, sender, parseEther('1') + BigInt(index))]
    return { blockStateCalls: [{ stateOverrides, calls }] }
  }
  const simulateFrom = async (first: number, count: number) => {
    let index = first
    const worker = async () => {
      while (index < first + count) {
        await simulate(pool, swap(index++))
        if (index % 100 === 0) look()
      }
    }
    await Promise.all(Array.from({ length: 8 }, worker))
    return look()
  }
  try {
    const early = await simulateFrom(0, Math.ceil(swaps / 10))
    const afterSwaps = await simulateFrom(Math.ceil(swaps / 10), swaps - Math.ceil(swaps / 10))
    const mine = await blockMaker(node)
    for (let block = 0; block < blocks; block++) {
      await mine()
      await simulate(pool, swap(swaps + block))
      if (block % 10 === 0) look()
    }
    return { early, swaps: afterSwaps, blocks: look(), highest }
  } finally {
    await pool.destroy()
    await gateway.stop()
  }
}

/** The node makes a block per transaction. */
async function blockMaker(url: string): Promise<() => Promise<void>> {
  const account = privateKeyToAccount(DEVNET_ROLES.deployer.privateKey)
  const client = createPublicClient({ transport: http(url) })
  const wallet = createWalletClient({ account, transport: http(url) })
  let nonce = await client.getTransactionCount({ address: account.address })
  const gas = { gas: 21_000n, maxFeePerGas: 10n ** 10n, maxPriorityFeePerGas: 1n }
  const chain = { chain: null, chainId: await client.getChainId() }
  return async () => {
    const hash = await wallet.sendTransaction({ ...gas, ...chain, to: account.address, value: 1n, nonce: nonce++ })
    // viem polls again only on a new block, and anvil sometimes returns a block before its receipts.
    while ((await client.getTransactionReceipt({ hash }).catch(noneYet)) === undefined) await sleep(5)
  }
}

function noneYet(error: unknown): undefined {
  if (!(error instanceof TransactionReceiptNotFoundError)) throw error
}
