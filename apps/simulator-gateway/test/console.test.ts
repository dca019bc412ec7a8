import { gzipSync } from 'node:zlib'
import { DEVNET_ROLES, ledgerStores, usdcAbi } from '@upfront/devnet'
import type { Browser, Page } from 'playwright-core'
import {
  createTestClient,
  createWalletClient,
  encodeErrorResult,
  encodeFunctionData,
  http,
  parseAbi,
  parseEther,
  publicActions,
  toEventSelector,
} from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { foundry } from 'viem/chains'
import { assemble } from './assemble.js'
import { axeViolations, inBrowser, launchBrowser } from './chromium.js'
import { type GatewayProcess, startGatewayProcess } from './gateway-process.js'
import { type PaidStand, startPaidStand } from './paid-stand.js'

const NOBODY = '0x00000000000000000000000000000000000b0b00'
const LIAR = '0x0000000000000000000000000000000000011a50'

describe('/console', () => {
  let stand: PaidStand
  let gateway: GatewayProcess
  let browser: Browser | undefined
  /** What each page complained of: blocked by its security policy, thrown, not found. */
  const complaints: string[] = []

  beforeAll(async () => {
    const [store] = ledgerStores()
    stand = await startPaidStand(store!, (rpcUrl) => ({
      UPSTREAM_WS_URL: rpcUrl.replace('http', 'ws'),
      RECEIPT_KEY: `0x${'42'.repeat(32)}`,
    }))
    gateway = stand.gateway
    browser = await launchBrowser()
    await stand.pay(`${gateway.url}/v1/preview?to=${NOBODY}`)
  }, 300_000)
  afterAll(async () => {
    await browser?.close()
    await stand?.stop()
  })
  afterEach(() => expect(complaints.splice(0)).toEqual([]))

  async function open(options: Parameters<Browser['newPage']>[0] = {}, path = ''): Promise<Page> {
    const page = await browser!.newPage(options)
    page.on('console', (message) => {
      // Asking for a price is answered with 402, which Chromium calls an error.
      if (message.type() === 'error' && !/status of 402/.test(message.text())) complaints.push(message.text())
    })
    page.on('pageerror', (error) => complaints.push(error.message))
    await page.goto(`${gateway.url}/console/${path}`)
    return page
  }

  /** Presses Tab until what has the focus, or its label, begins with or holds the text. */
  async function tabTo(page: Page, text: string): Promise<void> {
    const focused = '(document.activeElement.labels?.[0] ?? document.activeElement).textContent'
    const isThere = async () => {
      const shown = String(await page.evaluate(focused))
      return shown.startsWith(text) || (text.startsWith('"') && shown.includes(text))
    }
    for (let presses = 0; presses < 60; presses++) {
      await page.keyboard.press('Tab')
      if (await isThere()) return
    }
    throw new Error(`Tab does not reach ${text}`)
  }

  it('is served with a strict security policy, and only its own files', async () => {
    const { redirected, headers, status } = await fetch(`${gateway.url}/console`)
    expect({ redirected, status }).toEqual({ redirected: true, status: 200 })
    expect(headers.get('content-security-policy')).toMatch(/^default-src 'none'; script-src 'self'; style-src 'self';/)
    for (const path of ['..%2fpackage.json', '%2e%2e/package.json', '.vite/manifest.json', 'nothing.js'])
      expect((await fetch(`${gateway.url}/console/${path}`)).status).toBeGreaterThanOrEqual(400)
  })

  it('can be switched off', async () => {
    const without = await startGatewayProcess({ UPSTREAM_RPC_URL: stand.devnet.rpcUrl, CONSOLE: 'off' })
    expect((await fetch(`${without.url}/console/`)).status).toBe(404)
    await without.stop()
  })

  inBrowser('shows on latest and pending what a pasted transaction moves', async () => {
    const account = privateKeyToAccount(DEVNET_ROLES.deployer.privateKey)
    const wallet = createWalletClient({ account, chain: foundry, transport: http(stand.devnet.rpcUrl) })
    const request = await wallet.prepareTransactionRequest({ to: NOBODY, value: parseEther('0.25') })
    const page = await open()
    await page.getByLabel(/Paste a signed transaction/).fill(await wallet.signTransaction(request))
    for (const block of ['latest', 'pending']) {
      const side = page.getByRole('region', { name: `On ${block}` })
      await side.getByText('Succeeds · 21,000 gas').waitFor()
      expect(await side.getByRole('row').nth(1).textContent()).toContain('0.25 ETH')
      expect(await side.getByRole('row').nth(1).textContent()).toContain(account.address.toLowerCase())
      await side.getByRole('img', { name: 'What changes hands: 1 arrow between 2 addresses' }).waitFor()
    }
    await page.close()
  })

  inBrowser('draws what changes hands between addresses, and marks what a token contradicts', async () => {
    const { buyer, seller } = stand.devnet.accounts
    const sig = (event: string) => BigInt(toEventSelector(event))
    const [from, to] = [BigInt(buyer.address), BigInt(NOBODY)]
    // Called with nothing, it tells of two transfers and an approval. Asked for a balance or an owner, it knows of none.
    const liar = assemble(`CALLDATASIZE >asked JUMPI
      5 0 MSTORE ${to} ${from} ${sig('Transfer(address,address,uint256)')} 32 0 LOG3
      7 ${to} ${from} ${sig('Transfer(address,address,uint256)')} 0 0 LOG4
      9 0 MSTORE ${to} ${from} ${sig('Approval(address,address,uint256)')} 32 0 LOG3 STOP
      @asked 0 0 MSTORE 32 0 RETURN`)
    const transfer = { abi: usdcAbi, functionName: 'transfer', args: [seller.address, 1_500_000n] } as const
    const calls = [
      { from: buyer.address, to: stand.devnet.contracts.usdc, input: encodeFunctionData(transfer) },
      { from: buyer.address, to: LIAR, value: '0xde0b6b3a7640000' },
    ]
    const page = await open()
    const request = { blockStateCalls: [{ stateOverrides: { [LIAR]: { code: liar } }, calls }] }
    await page.getByLabel(/Paste a signed transaction/).fill(JSON.stringify(request))
    const [honest, lying] = [0, 1].map((at) =>
      page.getByRole('region', { name: 'On latest' }).locator('.calls > li').nth(at),
    )
    const picture = honest!.getByRole('img', { name: 'What changes hands: 1 arrow between 2 addresses' })
    await picture.getByText('1.5 USDC').nth(1).waitFor()
    expect(await picture.locator('.signer').textContent()).toContain(buyer.address.toLowerCase())
    expect(await honest!.getByText('⚠').count()).toBe(0)

    const doubted = lying!.getByRole('img', { name: 'What changes hands: 4 arrows between 3 addresses' })
    expect(await doubted.locator('.contradicted text').allTextContents()).toEqual(['⚠ 5 units', '⚠ token no. 7'])
    expect(await doubted.locator('path.approval').count()).toBe(1)
    const dashes = 'getComputedStyle(document.querySelector(".arrow.approval")).strokeDasharray'
    expect(await page.evaluate(dashes)).toBe('5px, 4px')
    await lying!.getByText('1 ETH', { exact: true }).last().waitFor()
    const table = lying!.getByRole('table', { name: 'What changes hands' })
    expect(await table.getByRole('row', { name: /⚠ contradicted by the token’s balances/ }).count()).toBe(2)
    await page.close()
  })

  inBrowser('bounds the picture and the table of hundreds of transfers', async () => {
    // Sends 1 wei to each of 300 addresses.
    const code = assemble('300 @loop 0 0 0 0 1 DUP6 4096 ADD 0 CALL POP 1 SWAP1 SUB DUP1 >loop JUMPI STOP')
    const page = await open()
    const stateOverrides = { [LIAR]: { code, balance: '0xffff' } }
    const request = { blockStateCalls: [{ stateOverrides, calls: [{ to: LIAR }] }] }
    await page.getByLabel(/Paste a signed transaction/).fill(JSON.stringify(request))
    const side = page.getByRole('region', { name: 'On latest' })
    await side.getByText('Shown: the 40 most important of 300 arrows. The table has all of them.').waitFor()
    const rows = side.getByRole('table', { name: 'What changes hands' }).getByRole('row')
    expect(await rows.count()).toBe(101)
    await side.getByRole('button', { name: 'Show more: 100 of 300 rows are shown' }).press('Enter')
    expect(await rows.count()).toBe(301)
    await page.close()
  })

  inBrowser('says why a call fails, and a link brings it all back', async () => {
    const data = encodeErrorResult({ abi: parseAbi(['error Error(string)']), errorName: 'Error', args: ['not today'] })
    // Copies the error behind its 12 bytes of code to memory and reverts with it.
    const length = ((data.length - 2) / 2).toString(16).padStart(2, '0')
    const code = `0x60${length}600c60003960${length}6000fd${data.slice(2)}`
    const page = await open()
    await page.getByText('State overrides').click()
    await page.getByLabel(/JSON by address/).fill(JSON.stringify({ [NOBODY]: { code } }))
    await page.getByLabel(/^To/).fill(NOBODY)
    await page.getByRole('button', { name: 'Simulate' }).press('Enter')
    await page.getByText('Fails: reverted: not today').first().waitFor()
    await page
      .getByText(/^CALL .*execution reverted: not today$/)
      .first()
      .waitFor()
    const linked = await open({}, new URL(page.url()).hash)
    await linked.getByText('Fails: reverted: not today').nth(1).waitFor()
    await page.close()
    await linked.close()
  })

  inBrowser('names the field that is wrong, and what the gateway refuses', async () => {
    const page = await open()
    await page.getByLabel('From').fill('0x12')
    await page.getByRole('button', { name: 'Simulate' }).click()
    expect(await page.getByRole('alert').textContent()).toBe('Call 1, from: not an address of 20 bytes')
    await page.getByLabel('From').fill(NOBODY)
    await page.getByLabel(/^Value/).fill('1')
    await page.getByRole('button', { name: 'Simulate' }).click()
    await page
      .getByText(/Refused: .*insufficient funds/)
      .nth(1)
      .waitFor()
    await page.close()
  })

  inBrowser('shows heads as they come', async () => {
    const page = await open()
    await page.getByRole('button', { name: 'Live' }).click()
    await page.getByText('Following the heads').waitFor()
    const chain = createTestClient({ chain: foundry, mode: 'anvil', transport: http(stand.devnet.rpcUrl) }).extend(
      publicActions,
    )
    const rows = page.getByRole('row')
    // Subscribing takes a moment: a head before that is not shown.
    while ((await rows.count()) < 2) await chain.mine({ blocks: 1 })
    const { hash } = await chain.getBlock()
    await page.getByText(hash).waitFor()
    await page.close()
  })

  inBrowser('names what is wrong in the order of heads', async () => {
    const page = await open()
    await page.getByRole('button', { name: 'Live' }).click()
    const line = page.getByRole('region', { name: 'Time line' })
    await line.getByText('No gap and no reorganisation').waitFor()
    const chain = createTestClient({ chain: foundry, mode: 'anvil', transport: http(stand.devnet.rpcUrl) }).extend(
      publicActions,
    )
    const rows = page.getByRole('row')
    while ((await rows.count()) < 4) await chain.mine({ blocks: 1 })
    // A head that the page has not seen yet can't be seen to go.
    await page.getByText((await chain.getBlock()).hash).waitFor()
    await chain.request({ method: 'anvil_reorg', params: [1, []] } as never)
    await chain.mine({ blocks: 1 })
    await line.getByText(/^reorganisation: the chain is another one from block \d+ on$/).waitFor()
    await page.close()
  })

  inBrowser('shows where the gas went, frame by frame', async () => {
    // Calls the precompiles 4 and 2.
    const code = '0x6000600060006000600060045af1506000600060006000600060025af100'
    const page = await open()
    await page.getByText('State overrides').click()
    await page.getByLabel(/JSON by address/).fill(JSON.stringify({ [NOBODY]: { code } }))
    await page.getByLabel(/^To/).fill(NOBODY)
    await page.keyboard.press('Enter')
    await page.getByText('Gas by frame').first().click()
    await page
      .getByRole('img', { name: /^Gas by frame: \d frames, [\d,]+ gas in all$/ })
      .first()
      .waitFor()
    await page.close()
  })

  inBrowser('takes blocks, overrides and a function of an ABI by form, and names what the ABI decodes', async () => {
    const data = encodeErrorResult({ abi: parseAbi(['error Late(uint256 by)']), errorName: 'Late', args: [7n] })
    const length = ((data.length - 2) / 2).toString(16).padStart(2, '0')
    const page = await open()
    await page.getByText('ABI', { exact: true }).click()
    await page.getByLabel(/^JSON, or lines/).fill('function arrive(uint256 when)\nerror Late(uint256 by)')
    await page.getByLabel(/^To/).fill(NOBODY)
    await page.getByRole('combobox', { name: /^Function/ }).selectOption('arrive(uint256)')
    await page.getByLabel('when (uint256)').fill('12')
    await page.getByText('State overrides').click()
    await page.getByRole('button', { name: 'Override an account' }).press('Enter')
    await page.getByLabel('Address', { exact: true }).fill(NOBODY)
    await page.getByLabel('Code (0x-hex)').fill(`0x60${length}600c60003960${length}6000fd${data.slice(2)}`)
    await page.getByRole('button', { name: 'Add a block' }).press('Enter')
    const second = page.getByRole('region', { name: 'Block 2' })
    await second.getByText('The block itself').click()
    await second.getByLabel('Block number').fill('100')
    await page.getByRole('button', { name: 'Simulate' }).press('Enter')
    await page.getByText('Fails: reverted: Late(by: 7)').nth(1).waitFor()
    await page.getByText('Calls arrive(when: 12)').nth(1).waitFor()
    await page.getByText('As block 100').nth(1).waitFor()
    await page.close()
  })

  inBrowser(
    'sells an answer, by keyboard: the price before, the signed maximum, the charge after, the receipt',
    async () => {
      const { seller, buyer } = stand.devnet.accounts
      const before = await stand.usdcOf(seller.address)
      const page = await open()
      await tabTo(page, 'Pay')
      await page.keyboard.press('Enter')
      await tabTo(page, 'To (empty')
      await page.keyboard.type(NOBODY)
      await tabTo(page, 'Ask for the price')
      await page.keyboard.press('Enter')
      await page.getByRole('heading', { name: /^Before: at most [\d.]+ USDC$/ }).waitFor()
      await tabTo(page, 'Sign and pay with the local chain’s test key')
      await page.keyboard.press('Enter')
      await page.getByText(`Signed by ${buyer.address}: at most`).waitFor()
      const charged = await page.getByRole('heading', { name: /^After: charged [\d.]+ USDC$/ }).textContent()
      await page.getByText(/^Transaction 0x[0-9a-f]{64}, in block \d+$/).waitFor()
      expect(Number(await stand.usdcOf(seller.address)) - Number(before)).toBe(
        Math.round(Number(charged!.split(' ')[2]) * 1e6),
      )
      expect(await page.locator('pre').first().textContent()).toContain('"status": "success"')
      await tabTo(page, 'Receipt')
      await page.keyboard.press('Enter')
      await tabTo(page, '"signature": "0x')
      await page.close()
    },
  )

  inBrowser('pays with the wallet of the browser, and says what that refuses', async () => {
    const { buyer } = stand.devnet.accounts
    const wallet = privateKeyToAccount(buyer.privateKey)
    const page = await browser!.newPage()
    let refuses = true
    await page.exposeFunction('askWallet', async (method: string, params: unknown[]) => {
      if (method === 'eth_requestAccounts') return [wallet.address]
      if (method === 'wallet_switchEthereumChain') return null
      if (method !== 'eth_signTypedData_v4') throw new Error(`unexpected ${method}`)
      if (refuses) throw new Error('User rejected the request')
      const { types, ...typed } = JSON.parse(String(params[1]))
      delete types.EIP712Domain
      return wallet.signTypedData({ ...typed, types })
    })
    await page.addInitScript('window.ethereum = { request: ({ method, params }) => askWallet(method, params) }')
    await page.goto(`${gateway.url}/console/`)
    await page.getByRole('button', { name: 'Pay' }).click()
    await page.getByLabel(/^To/).fill(NOBODY)
    await page.keyboard.press('Enter')
    const sign = page.getByRole('button', { name: 'Sign and pay with the browser’s wallet' })
    await sign.click()
    expect(await page.getByRole('alert').textContent()).toContain('User rejected the request')
    refuses = false
    await sign.click()
    await page.getByRole('heading', { name: /^After: charged [\d.]+ USDC$/ }).waitFor()
    await page.close()
  })

  inBrowser('shows the seller, by keyboard, what was earned, each payment, and that the chain agrees', async () => {
    const page = await open({}, 'seller')
    await tabTo(page, 'Billing’s read token')
    await page.keyboard.type(stand.readToken)
    await tabTo(page, 'Open the ledger')
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: /^Earned [\d.]+ USDC · gas [\d.]+ ETH$/ }).waitFor()
    await page.getByRole('img', { name: /^Earned by route and day/ }).waitFor()
    await page.getByRole('cell', { name: 'GET /v1/preview' }).first().waitFor()
    await tabTo(page, 'Price of 1 ETH in USDC')
    await page.keyboard.type('2000')
    await page.getByText(/^Gas took [\d.]+ % of what was earned/).waitFor()
    await tabTo(page, 'pay_')
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: /^Payment .*: settled$/ }).waitFor()
    await page
      .getByRole('table', { name: 'Transactions signed for it' })
      .getByText(/^0x[0-9a-f]{64}$/)
      .waitFor()
    await tabTo(page, 'Compare with the chain')
    await page.keyboard.press('Enter')
    await page.getByText(/^No differences: \d+ settled payments compared/).waitFor()
    await page.close()
  })

  it('refuses the ledger to whoever has no token', async () => {
    for (const path of ['payments', 'payments/totals', 'payments/1', 'accounts', 'reconciliation']) {
      for (const headers of [{}, { authorization: 'Bearer wrong' }] as Record<string, string>[])
        expect((await fetch(`${gateway.url}/v1/seller/${path}`, { headers })).status).toBe(401)
    }
    const headers = { authorization: `Bearer ${stand.token}` }
    expect((await fetch(`${gateway.url}/v1/seller/payments.csv`, { headers })).status).toBe(404)
    const refused = await fetch(`${gateway.url}/v1/seller/payments?limit=0`, { headers })
    expect([refused.status, await refused.json()]).toMatchObject([400, { error: { field: 'limit' } }])
  })

  it('stays under 300 kB, compressed', async () => {
    const page = await (await fetch(`${gateway.url}/console/`)).text()
    const files = [...page.matchAll(/(?:src|href)="(\/console\/[^"]+)"/g)].map(([, path]) => path)
    expect(files.length).toBeGreaterThan(1)
    let length = 0
    for (const path of files)
      length += gzipSync(Buffer.from(await (await fetch(`${gateway.url}${path}`)).arrayBuffer())).length
    expect(length).toBeLessThan(300_000)
  })

  inBrowser.each(['light', 'dark'] as const)('has nothing that axe finds, on a phone, %s', async (colorScheme) => {
    const page = await open({ colorScheme, viewport: { width: 360, height: 740 }, bypassCSP: true })
    await page.getByLabel('From').fill(stand.devnet.accounts.buyer.address)
    await page.getByLabel(/^To/).fill(NOBODY)
    await page.getByLabel(/^Value/).fill('1')
    await page.keyboard.press('Enter')
    await page.getByText('Succeeds').nth(1).waitFor()
    await page.getByText('The request as code').click()
    const check = async () => {
      expect(await axeViolations(page)).toEqual([])
      expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(360)
    }
    await check()
    for (const name of ['Live', 'Pay', 'Seller']) {
      await page.getByRole('button', { name, exact: true }).click()
      if (name === 'Pay') {
        await page.getByLabel(/^To/).fill(NOBODY)
        await page.keyboard.press('Enter')
        await page.getByRole('button', { name: /^Sign and pay with the local/ }).click()
        await page.getByRole('heading', { name: /^After:/ }).waitFor()
        await page.getByText('Receipt', { exact: true }).click()
      } else if (name === 'Seller') {
        await page.getByLabel(/^Billing’s read token/).fill(stand.readToken)
        await page.keyboard.press('Enter')
        await page.getByRole('button', { name: /^pay_/ }).first().click()
        await page.getByRole('heading', { name: /^Payment / }).waitFor()
        await page.getByRole('button', { name: 'Compare with the chain' }).click()
        await page.getByText(/^No differences/).waitFor()
      }
      await check()
    }
    await page.close()
  })
})
