import { DEVNET_ACCOUNTS, DEVNET_ROLES, deployUniswap, rpc, startAnvil, testTokenAbi } from '@upfront/devnet'
import { encodeFunctionData, numberToHex, parseEther } from 'viem'
import { nativeTransfer, swapV2, swapV3, tokenTransfer } from '../workloads/calls.js'
import type { SimulatedCall, Stage } from '../workloads/workload.js'

/** A chain that makes a block of swaps and transfers every so often. */
export interface MovingChain {
  rpcUrl: string
  wsUrl: string
  stage: Stage
  /** Accounts that hold both tokens and have approved nothing: they receive and send tokens in the blocks. */
  holders: readonly `0x${string}`[]
  stop(): Promise<void>
}

const GAS = numberToHex(400_000)
const FEE = numberToHex(10n ** 11n)

/**
 * Starts an anvil that seals a block each `intervalMs`, with so many transactions: swaps in both pools, and transfers of tokens
 * and native currency between a few accounts.
 */
export async function startMovingChain(intervalMs: number, transactions: number): Promise<MovingChain> {
  const anvil = await startAnvil([
    '--port',
    '0',
    '--order',
    'fifo',
    '--gas-limit',
    '60000000',
    '--prune-history',
    '512',
  ])
  try {
    const { rpcUrl, wsUrl } = anvil
    const trader = DEVNET_ROLES.deployer.address
    const stage: Stage = { uniswap: await deployUniswap(rpcUrl, DEVNET_ROLES.deployer.privateKey), trader }
    const holders = DEVNET_ACCOUNTS.map(({ address }) => address).filter((address) => address !== trader)
    for (const to of holders) await rpc(rpcUrl, 'eth_sendTransaction', [{ ...funding(stage, to), gas: GAS }])
    await rpc(rpcUrl, 'evm_setAutomine', [false])
    const sealing = sealBlocks(rpcUrl, stage, holders, intervalMs, transactions)
    return {
      ...{ rpcUrl, wsUrl, stage, holders },
      async stop() {
        await sealing.stop()
        await anvil.stop()
      },
    }
  } catch (error) {
    await anvil.stop()
    throw error
  }
}

function funding(stage: Stage, to: `0x${string}`): SimulatedCall {
  const args = [to, parseEther('1000')] as const
  const data = encodeFunctionData({ abi: testTokenAbi, functionName: 'transfer', args })
  return { from: stage.trader, to: stage.uniswap.token1, data }
}

function sealBlocks(
  rpcUrl: string,
  stage: Stage,
  holders: readonly `0x${string}`[],
  intervalMs: number,
  transactions: number,
): { stop(): Promise<void> } {
  let going = true
  const kinds = [
    (_: number) => swapV3(stage),
    (index: number) => ({ ...tokenTransfer(stage), from: holder(index) }),
    (index: number) => ({ ...nativeTransfer(stage), from: holder(index), to: holder(index + 1) }),
    (_: number) => swapV2(stage),
  ]
  const holder = (index: number) => holders[index % holders.length]
  const run = async () => {
    for (let due = performance.now(); going; due += intervalMs) {
      const body = Array.from({ length: transactions }, (_, index) => ({
        ...{ jsonrpc: '2.0', id: index, method: 'eth_sendTransaction' },
        params: [{ ...kinds[index % kinds.length]?.(index), gas: GAS, maxFeePerGas: FEE, maxPriorityFeePerGas: '0x1' }],
      }))
      const headers = { 'content-type': 'application/json' }
      const answer = await fetch(rpcUrl, { method: 'POST', headers, body: JSON.stringify(body) })
      const refused = ((await answer.json()) as { error?: unknown }[]).find(({ error }) => error !== undefined)
      if (refused) throw new Error(`the chain takes no transaction: ${JSON.stringify(refused)}`)
      const left = due + intervalMs - performance.now()
      if (left > 0) await new Promise((resolve) => setTimeout(resolve, left))
      await rpc(rpcUrl, 'evm_mine', [])
    }
  }
  const ended = run()
  ended.catch((error) => {
    if (!going) return
    console.error(error)
    process.exit(1)
  })
  return {
    async stop() {
      going = false
      await ended
    },
  }
}
