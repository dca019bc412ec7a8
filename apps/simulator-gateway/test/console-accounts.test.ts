import { encodeFunctionData, type Hex, parseEther, toHex } from 'viem'
import { inBrowser } from './chromium.js'
import { consolePages, expectAccessible, LOOKS, paste, result } from './console-page.js'
import { type GatewayProcess, startGateway } from './gateway-process.js'
import { ACCOUNT_ABI, type ChainStand, deployEntryPoint, startChain } from './user-operation-stand.js'

// Pasted requests of smart accounts, and links that keep a result.

const FRIEND = `0xf0${'0'.repeat(37)}1` as const

describe('/console for smart accounts', () => {
  let chain: ChainStand
  let gateway: GatewayProcess
  let sender: Hex
  let entryPoint: Hex

  const start = async () => {
    chain = await startChain()
    const stand = await deployEntryPoint(chain, '0.8')
    entryPoint = stand.entryPoint
    sender = await stand.create(0n)
    const { rpcUrl, wsUrl } = chain.anvil
    gateway = await startGateway({ UPSTREAM_RPC_URL: rpcUrl, UPSTREAM_WS_URL: wsUrl })
    return gateway.url
  }
  const pages = consolePages(start, async () => {
    await gateway?.stop()
    await chain?.anvil.stop()
  })

  const operation = (value: bigint) => ({
    sender,
    nonce: 0,
    callData: encodeFunctionData({ abi: ACCOUNT_ABI, functionName: 'execute', args: [FRIEND, value, '0x'] }),
    ...{ callGasLimit: '200000', verificationGasLimit: '300000', preVerificationGas: '50000' },
    ...{ maxFeePerGas: toHex(3_000_000_000n), maxPriorityFeePerGas: '0x1' },
  })
  const request = (value: bigint) => ({ method: 'eth_sendUserOperation', params: [operation(value), entryPoint] })

  inBrowser('shows what an unsigned user operation does, with its fees separately', async () => {
    const page = await pages.open()
    await paste(page, request(parseEther('0.5')))
    await page.getByRole('status').getByText('User operation').waitFor()
    await result(page).getByText('The account sends 0.5 ETH. Nobody gains an allowance.').waitFor()
    await result(page).getByText('It is not signed yet').waitFor()
    await result(page)
      .getByText(/The account pays its own fees: 0\.000\d+ ETH/)
      .waitFor()
    await paste(page, request(parseEther('5')))
    await result(page)
      .getByText(/✗ Fails: execution reverted/)
      .waitFor()
  })

  inBrowser('shows why the EntryPoint rejects a user operation', async () => {
    const page = await pages.open()
    await paste(page, { method: 'eth_sendUserOperation', params: [{ ...operation(1n), nonce: 9 }, entryPoint] })
    await result(page).getByText('✗ Fails: AA25 invalid account nonce').waitFor()
  })

  inBrowser('copies a link that shows the same result later', async () => {
    const page = await pages.open('', { permissions: ['clipboard-read', 'clipboard-write'] })
    await paste(page, { from: sender, to: FRIEND, value: toHex(parseEther('1.5')) })
    await result(page).getByText('You send 1.5 ETH.').waitFor()
    await result(page).getByRole('button', { name: 'Copy a link that shows the same later' }).click()
    const link = (await page.evaluate('navigator.clipboard.readText()')) as string
    expect(link.startsWith(`${gateway.url}/console/#`)).toBe(true)

    const seen = await chain.node.getBlockNumber()
    await chain.node.request({ method: 'anvil_setBalance' as never, params: [sender, '0x0'] as never })
    await chain.node.request({ method: 'anvil_mine' as never, params: ['0x3'] as never })
    const later = await pages.open(new URL(link).hash)
    await result(later).getByText('You send 1.5 ETH.').waitFor()
    await result(later)
      .getByText(new RegExp(`^As block ${seen + 1n}, on`))
      .waitFor()
    await chain.node.request({ method: 'anvil_setBalance' as never, params: [sender, toHex(parseEther('2'))] as never })
    await chain.node.request({ method: 'anvil_mine' as never, params: ['0x1'] as never })
  })

  describe.each(LOOKS)('%s', (_look, options) => {
    inBrowser('shows a user operation without axe violations', async () => {
      const page = await pages.open('', { ...options, bypassCSP: true })
      await paste(page, request(parseEther('0.25')))
      await result(page).getByText('It is not signed yet').waitFor()
      await expectAccessible(page)
    })
  })
})
