import { once } from 'node:events'
import {
  deployUniswap,
  GETH_DEVELOPER,
  startBuiltGeth,
  startDevnet,
  swapRouterAbi,
  testTokenAbi,
  type UniswapContracts,
} from '@upfront/devnet'
import type { SignedTruthSummary } from '@upfront/receipt'
import {
  createPublicClient,
  createTestClient,
  createWalletClient,
  encodeFunctionData,
  type Hex,
  http,
  maxUint256,
  parseEther,
  parseGwei,
} from 'viem'
import { generatePrivateKey, type PrivateKeyAccount, privateKeyToAccount } from 'viem/accounts'
import { type GatewayProcess, startGatewayProcess, type Variables } from './gateway-process.js'

export interface Miss {
  transaction: Hex
  seen: string
  why: string
  differs: string[]
  effect?: string
  proof?: 'alone' | 'together' | 'neither'
  because: { fact: { kind: string; address?: Hex }; by: string; predicted: Hex; found: Hex }[]
}

export type Summary = Omit<SignedTruthSummary, 'misses'> & { misses: Miss[] }

/** A chain whose blocks a test mines, traders on it, and a gateway that scores its predictions. */
export interface TruthStand {
  uniswap: UniswapContracts
  gateway: GatewayProcess
  traders: PrivateKeyAccount[]
  mine(): Promise<unknown>
  /** @param priority in gwei, higher ones come first; @param nonce the next one by default */
  send(account: PrivateKeyAccount, to: Hex, data: Hex, priority?: bigint, nonce?: number, gas?: bigint): Promise<Hex>
  /** Calldata of a swap with the pool that all traders share. */
  swap(account: PrivateKeyAccount, least?: bigint): Hex
  /** Output of a swap now. */
  quote(account: PrivateKeyAccount): Promise<bigint>
  summary(query?: string): Promise<Summary>
  /** Resolves once this many were predicted or judged. */
  until(what: 'predicted' | 'judged', count: number): Promise<Summary>
  stop(): Promise<void>
}

/** A node whose blocks a test mines, with Uniswap on it. */
interface MinedNode {
  rpcUrl: string
  wsUrl: string
  uniswap: UniswapContracts
  /** An account with ether that may mint tokens. */
  rich: PrivateKeyAccount
  mine(): Promise<unknown>
  stop(): Promise<void>
}

async function minedAnvil(): Promise<MinedNode> {
  const { rpcUrl, uniswap, accounts, stop } = await startDevnet({ uniswap: true, payments: false })
  const chain = createTestClient({ mode: 'anvil', transport: http(rpcUrl) })
  await chain.setAutomine(false)
  const rich = privateKeyToAccount(accounts.deployer.privateKey)
  const mine = () => chain.mine({ blocks: 1 })
  return { ...{ rpcUrl, uniswap: uniswap!, rich, mine, stop }, wsUrl: rpcUrl.replace('http', 'ws') }
}

async function minedGeth(path: string): Promise<MinedNode> {
  const { rpcUrl, wsUrl, build, stop } = await startBuiltGeth(path)
  const mine = () => build({ feeRecipient: `0x${'fe'.repeat(20)}`, withdrawals: [] })
  const uniswap = await mining(mine, deployUniswap(rpcUrl, GETH_DEVELOPER.privateKey))
  return { ...{ rpcUrl, wsUrl, uniswap, mine, stop }, rich: privateKeyToAccount(GETH_DEVELOPER.privateKey) }
}

/** Mines blocks until `work` is done. @returns its result */
async function mining<T>(mine: () => Promise<unknown>, work: Promise<T>): Promise<T> {
  let isDone = false
  const done = work.finally(() => {
    isDone = true
  })
  done.catch(() => undefined)
  while (!isDone) await mine()
  return done
}

/** @param variables more variables of the gateway @param geth its path; anvil is used if absent */
export async function startTruthStand(count: number, variables: Variables, geth?: string): Promise<TruthStand> {
  const node = geth === undefined ? await minedAnvil() : await minedGeth(geth)
  const { rpcUrl, wsUrl, uniswap, rich, mine } = node
  const { token0, router, pairV2 } = uniswap
  const transport = http(rpcUrl)
  const reader = createPublicClient({ transport, pollingInterval: 20 })
  const request = (
    account: PrivateKeyAccount,
    more: { to: Hex; data?: Hex; value?: bigint; nonce?: number; gas?: bigint },
    priority = 1n,
  ) =>
    createWalletClient({ account, transport }).sendTransaction({
      ...{ chain: null, gas: 500_000n, ...more },
      ...{ maxFeePerGas: parseGwei('100'), maxPriorityFeePerGas: parseGwei(String(priority)) },
    })
  const traders = Array.from({ length: count }, () => privateKeyToAccount(generatePrivateKey()))
  const approve = encodeFunctionData({ abi: testTokenAbi, functionName: 'approve', args: [router, maxUint256] })
  let nonce = await reader.getTransactionCount({ address: rich.address })
  const given: Hex[] = []
  for (const { address } of traders) {
    const mint = encodeFunctionData({ abi: testTokenAbi, functionName: 'mint', args: [address, parseEther('1000000')] })
    given.push(await request(rich, { to: address, value: parseEther('10'), nonce: nonce++ }))
    given.push(await request(rich, { to: token0, data: mint, nonce: nonce++ }))
  }
  const mined = (hashes: readonly Hex[]) =>
    mining(mine, Promise.all(hashes.map((hash) => reader.waitForTransactionReceipt({ hash }))))
  await mined(given)
  await mined(await Promise.all(traders.map((account) => request(account, { to: token0, data: approve, nonce: 0 }))))
  const gateway = await startGatewayProcess({
    UPSTREAM_RPC_URL: rpcUrl,
    UPSTREAM_WS_URL: wsUrl,
    TRUTH_SCORE: 'on',
    ...variables,
  })
  for (const what of ['blocks', 'waiting transactions'])
    while (!gateway.output().includes(`"what":"${what}","msg":"a source of the prediction score is open`))
      await once(gateway.process.stdout!, 'data')
  const swapArgs = ({ address }: PrivateKeyAccount, least: bigint) =>
    [pairV2, token0, parseEther('100'), least, address] as const
  const summary = async (query = '') => (await fetch(`${gateway.url}/v1/truth${query}`)).json() as Promise<Summary>
  return {
    ...{ uniswap, gateway, traders, summary, mine },
    send: (account, to, data, priority, nonce, gas) =>
      request(
        account,
        { to, data, ...(nonce !== undefined && { nonce }), ...(gas !== undefined && { gas }) },
        priority,
      ),
    swap: (account, least = 0n) =>
      encodeFunctionData({ abi: swapRouterAbi, functionName: 'swapV2', args: swapArgs(account, least) }),
    async quote(account) {
      const call = { address: router, abi: swapRouterAbi, functionName: 'swapV2' } as const
      return (await reader.simulateContract({ ...call, account, args: swapArgs(account, 0n) })).result
    },
    async until(what, count) {
      for (;;) {
        const found = await summary()
        if (found[what] >= count) return found
        await new Promise((resolve) => setTimeout(resolve, 100))
      }
    },
    async stop() {
      await gateway.stop()
      await node.stop()
    },
  }
}
