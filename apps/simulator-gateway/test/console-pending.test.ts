import {
  type Devnet,
  type FlashblockMessage,
  flashblocksOf,
  type StreamServer,
  startDevnet,
  startStreamServer,
} from '@upfront/devnet'
import { createTestClient, createWalletClient, encodeFunctionData, erc20Abi, http, publicActions } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { foundry } from 'viem/chains'
import { STATE_HEADER } from '../src/pending/answer-state.js'
import { inBrowser } from './chromium.js'
import { consolePages, expectAccessible, LOOKS, paste, result, titled } from './console-page.js'
import { type GatewayProcess, startGateway } from './gateway-process.js'
import { until } from './preconfirmed-stand.js'

const VIEWS = [
  ['Look', 'Look before you sign'],
  ['Live', 'Live'],
  ['Pay', 'Pay for an answer'],
  ['Check', 'Check a bill'],
  ['Seller', 'Seller'],
] as const

// The block under construction allows the seller 2 USDC of the buyer; the newest sealed block does not.
describe('/console if pending differs from latest', () => {
  let devnet: Devnet
  let stream: StreamServer
  let gateway: GatewayProcess

  const start = async () => {
    devnet = await startDevnet()
    stream = await startStreamServer({ port: 0, encoding: 'json' })
    const construction = await allowing()
    gateway = await startGateway({
      UPSTREAM_RPC_URL: devnet.rpcUrl,
      UPSTREAM_WS_URL: devnet.rpcUrl.replace('http', 'ws'),
      FLASHBLOCKS_WS_URL: stream.url,
    })
    type Ready = { preconfirmed: { connected: boolean } }
    const ready = async () => (await (await fetch(`${gateway.url}/health/ready`)).json()) as Ready
    await until(async () => (await ready()).preconfirmed.connected)
    for (const flashblock of construction) stream.send(JSON.stringify(flashblock))
    await until(async () => {
      const question = { jsonrpc: '2.0', id: 1, method: 'eth_getBlockByNumber', params: ['pending', false] }
      const answer = await gateway.post(JSON.stringify(question))
      return /^preconfirmed.*flashblock=1/.test(answer.headers.get(STATE_HEADER) ?? '')
    })
    return gateway.url
  }
  const pages = consolePages(start, async () => {
    await gateway?.stop()
    await stream?.stop()
    await devnet?.stop()
  })

  /** A block with the approval as a sequencer streams it. It is mined for that, then reverted. */
  async function allowing(): Promise<FlashblockMessage[]> {
    const { buyer, seller } = devnet.accounts
    const transport = http(devnet.rpcUrl)
    const chain = createTestClient({ chain: foundry, mode: 'anvil', transport }).extend(publicActions)
    const id = await chain.snapshot()
    const account = privateKeyToAccount(buyer.privateKey)
    const hash = await createWalletClient({ account, chain: foundry, transport }).writeContract({
      ...{ address: devnet.contracts.usdc, abi: erc20Abi, functionName: 'approve' },
      args: [seller.address, 2_000_000n],
    })
    const { blockNumber } = await chain.waitForTransactionReceipt({ hash })
    const flashblocks = await flashblocksOf(devnet.rpcUrl, blockNumber)
    await chain.revert({ id })
    return flashblocks
  }

  /** The seller's transferFrom. */
  const taking = (amount: bigint) => {
    const { buyer, seller } = devnet.accounts
    const args = [buyer.address, seller.address, amount] as const
    const data = encodeFunctionData({ abi: erc20Abi, functionName: 'transferFrom', args })
    return { from: seller.address, to: devnet.contracts.usdc, data }
  }

  inBrowser.each(LOOKS)('shows once how latest differs, %s, and names the chain', async (_, options) => {
    const page = await pages.open('', { ...options, bypassCSP: true })
    await paste(page, taking(1_500_000n))
    await result(page).getByText('You receive 1.5 USDC. Nobody gains an allowance.').waitFor()
    await result(page)
      .getByText(/on the block under construction \(flashblock \d+\)/)
      .waitFor()
    const difference = result(page).getByRole('note').filter({ hasText: 'It is different on latest' })
    await difference.getByText(/^On latest: Fails: .+\. The outcome changes with what happens before it\.$/).waitFor()
    expect([await difference.count(), await result(page).getByText('1.5 USDC. Nobody').count()]).toEqual([1, 1])
    await expectAccessible(page)

    await paste(page, taking(2_500_000n))
    await result(page)
      .getByText(/^✗ Fails: /)
      .waitFor()
    await result(page).getByText('The same on latest.').waitFor()
    expect(await difference.count()).toBe(0)

    for (const [view, title] of VIEWS) {
      await page.getByRole('link', { name: view, exact: true }).click()
      await page.getByRole('heading', { name: title, level: 1 }).waitFor()
      await titled(page, new RegExp(`^${title} · Local chain · Upfront$`))
      await page.locator('.chain').getByText('Local chain').waitFor()
    }
  })
})
