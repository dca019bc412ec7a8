import { setTimeout as sleep } from 'node:timers/promises'
import {
  type BuiltGeth,
  deployUniswap,
  findGeth,
  GETH_DEVELOPER,
  startBuiltGeth,
  swapRouterAbi,
  type UniswapContracts,
} from '@upfront/devnet'
import type { Outcome, ShownDependencies } from '@upfront/simulation'
import { createPublicClient, createWalletClient, encodeFunctionData, type Hex, http, parseEther } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { type GatewayProcess, startGateway } from './gateway-process.js'

const trader = privateKeyToAccount(GETH_DEVELOPER.privateKey)
// On anvil no state is carried from block to block, so these tests need geth.
const path = findGeth()
const onGeth = path === undefined ? it.skip : it
let geth: BuiltGeth
let uniswap: UniswapContracts
let gateway: GatewayProcess

beforeAll(async () => {
  if (path === undefined) return
  geth = await startBuiltGeth(path)
  let isDeployed = false
  const building = (async () => {
    while (!isDeployed) await build()
  })()
  uniswap = await deployUniswap(geth.rpcUrl, GETH_DEVELOPER.privateKey)
  isDeployed = true
  await building
  gateway = await startGateway({ UPSTREAM_RPC_URL: geth.rpcUrl, UPSTREAM_WS_URL: geth.wsUrl })
})
afterAll(async () => {
  await gateway?.stop()
  await geth?.stop()
})

const swap = (amount: string, token = uniswap.token0) => ({
  to: uniswap.router,
  data: encodeFunctionData({
    abi: swapRouterAbi,
    functionName: 'swapV2',
    args: [uniswap.pairV2, token, parseEther(amount), 0n, trader.address],
  }),
})

const build = () => geth.build({ feeRecipient: `0x${'fe'.repeat(20)}`, withdrawals: [] })

/** Mines a block of these trades, in this order. */
async function mineTrades(...trades: ReturnType<typeof swap>[]): Promise<void> {
  const transport = http(geth.rpcUrl)
  const client = createPublicClient({ transport, pollingInterval: 20 })
  const wallet = createWalletClient({ account: trader, transport })
  let nonce = await client.getTransactionCount({ address: trader.address })
  const hashes: Hex[] = []
  for (const trade of trades)
    hashes.push(await wallet.sendTransaction({ chain: null, gas: 1_000_000n, nonce: nonce++, ...trade }))
  await build()
  for (const hash of hashes) await client.waitForTransactionReceipt({ hash })
}

const mineTrade = () => mineTrades(swap('5000'))

async function ask(): Promise<{ depends: ShownDependencies; outcome: Outcome }> {
  const { to, data } = swap('1')
  const payload = {
    blockStateCalls: [{ calls: [{ from: trader.address, to, input: data }] }],
    depends: true,
    outcome: true,
  }
  const body = { jsonrpc: '2.0', id: 1, method: 'upfront_simulate', params: [payload, 'latest'] }
  const { result } = (await (await gateway.post(JSON.stringify(body))).json()) as {
    result: { calls: { depends: ShownDependencies; outcome: Outcome }[] }[]
  }
  return result[0]!.calls[0]!
}

onGeth(
  'outcome changes for a swap if the last block traded in its pool, and says how often it does',
  async () => {
    const pair = uniswap.pairV2.toLowerCase()
    const under = 'a place before the last block'
    for (;;) {
      await mineTrade()
      await ask()
      await mineTrade()
      await sleep(100)
      const { depends, outcome } = await ask()
      const because = outcome.because.filter((reason) => reason.under === under)
      if (because.length === 0) continue
      expect(outcome.verdict).toBe('changes')
      expect(because.map(({ fact }) => fact?.address)).toContain(pair)
      expect(because[0]!.effect).toMatch(/^0x\w+ instead of 0x\w+: transfer of 0x/)
      const reserves = depends.facts.find(
        ({ fact }) => fact.kind === 'slot' && fact.address === pair && fact.slot?.endsWith('08'),
      )
      expect(reserves?.changed?.times).toBeGreaterThan(0)
      expect(reserves!.changed!.blocks).toBeGreaterThanOrEqual(reserves!.changed!.times)
      return
    }
  },
  30_000,
)

onGeth(
  'outcome changes for a swap in the middle of a block that traded back and forth',
  async () => {
    const under = 'a place in the middle of the last block'
    for (;;) {
      await mineTrades(swap('5000'), swap('4970', uniswap.token1))
      await ask()
      await mineTrades(swap('5000'), swap('4970', uniswap.token1))
      await sleep(100)
      const { outcome } = await ask()
      const because = outcome.because.filter((reason) => reason.under === under)
      if (because.length === 0) continue
      expect(outcome.verdict).toBe('changes')
      expect(because.map(({ fact }) => fact?.address)).toContain(uniswap.pairV2.toLowerCase())
      return
    }
  },
  30_000,
)

onGeth(
  'outcome changes for a swap in the middle of the block before the last if the last one is empty',
  async () => {
    const under = 'a place in the middle of the block before the last'
    for (;;) {
      await mineTrades(swap('5000'), swap('4970', uniswap.token1))
      await ask()
      await mineTrades(swap('5000'), swap('4970', uniswap.token1))
      await build()
      await sleep(100)
      const { outcome } = await ask()
      const because = outcome.because.filter((reason) => reason.under === under)
      if (because.length === 0) continue
      expect(outcome.verdict).toBe('changes')
      expect(because.map(({ fact }) => fact?.address)).toContain(uniswap.pairV2.toLowerCase())
      return
    }
  },
  30_000,
)
