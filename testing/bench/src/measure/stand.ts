import { DEVNET_ROLES, deployUniswap } from '@upfront/devnet'
import { createPublicClient, createWalletClient, http, parseEther } from 'viem'
import { startAnvilFork, startAnvilNode } from '../servers/anvil.js'
import { startGateway } from '../servers/gateway.js'
import { findGeth, startGeth } from '../servers/geth.js'
import type { Server } from '../servers/server.js'
import type { Stage } from '../workloads/workload.js'

/** The compared servers, all on the same state. */
export interface Stand {
  /** The node with the state: geth, or anvil if geth is not available. */
  node: Server
  upfront: Server
  /** Our gateway with the portable engine, if requested. */
  portable: Server | undefined
  anvil: Server
  /** The node itself, if it is geth. */
  geth: Server | undefined
  stage: Stage
  stop(): Promise<void>
}

/** Seconds between the node's blocks, if its head is followed. */
const BLOCK_SECONDS = 1

/**
 * Starts a node, deploys the contracts, and starts our gateway and an anvil fork on it.
 * @param profileFolder where the gateway writes a CPU profile of its main thread when it stops
 * @param follows whether the node makes blocks continuously and announces them to the gateway
 * @param withPortable whether to include a gateway with the portable engine
 */
export async function startStand({
  profileFolder,
  follows,
  withPortable,
}: {
  profileFolder?: string
  follows: boolean
  withPortable: boolean
}): Promise<Stand> {
  const path = findGeth()
  const started: Server[] = []
  const stop = async () => {
    for (const server of started.reverse()) await server.stop()
  }
  try {
    if (follows && path === undefined) throw new Error('--follow needs geth, which needs Go')
    const node = path === undefined ? await startAnvilNode() : await startGeth(path, follows ? BLOCK_SECONDS : 0)
    started.push(node)
    const trader = DEVNET_ROLES.deployer.address
    if (path !== undefined) await fund(node.url, trader)
    const uniswap = await deployUniswap(node.url, DEVNET_ROLES.deployer.privateKey)
    const anvil = await startAnvilFork(node.url)
    started.push(anvil)
    const env: Record<string, string> = follows ? { UPSTREAM_WS_URL: node.url.replace('http', 'ws') } : {}
    const upfront = await startGateway(
      node.url,
      env,
      profileFolder === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${profileFolder}`],
    )
    started.push(upfront)
    const portable = withPortable
      ? { ...(await startGateway(node.url, { ...env, EVM_ENGINE: 'portable' })), name: 'portable' }
      : undefined
    if (portable !== undefined) started.push(portable)
    const geth = path === undefined ? undefined : node
    return { node, upfront, portable, anvil, geth, stage: { uniswap, trader }, stop }
  } catch (error) {
    await stop()
    throw error
  }
}

/** Transfers 1,000 ETH to the trader from geth's development account, which is unlocked. */
async function fund(url: string, to: `0x${string}`): Promise<void> {
  const client = createPublicClient({ transport: http(url), pollingInterval: 50 })
  const wallet = createWalletClient({ transport: http(url) })
  const [account] = await wallet.getAddresses()
  if (account === undefined) throw new Error('geth offers no development account')
  const hash = await wallet.sendTransaction({ account, to, value: parseEther('1000'), chain: null })
  await client.waitForTransactionReceipt({ hash })
}
