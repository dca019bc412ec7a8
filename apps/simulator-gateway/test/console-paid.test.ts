import { once } from 'node:events'
import { request } from 'node:http'
import { privateKeyToAccount } from 'viem/accounts'
import { inBrowser } from './chromium.js'
import { consolePages, expectAccessible, LOOKS, tabTo } from './console-page.js'
import type { GatewayProcess } from './gateway-process.js'
import { type PaidStand, receiptKeysFile, startPaidStand } from './paid-stand.js'

const NOBODY = '0x00000000000000000000000000000000000b0b00'

describe('/console of a gateway that sells', () => {
  let stand: PaidStand
  let gateway: GatewayProcess

  const start = async () => {
    stand = await startPaidStand((rpcUrl) => ({
      UPSTREAM_WS_URL: rpcUrl.replace('http', 'ws'),
      RECEIPT_KEYS_FILE: receiptKeysFile(`0x${'42'.repeat(32)}`),
    }))
    gateway = stand.gateway
    await stand.pay(`${gateway.url}/v1/preview?to=${NOBODY}`)
    return gateway.url
  }
  const pages = consolePages(start, async () => stand?.stop())

  inBrowser('sells an answer by keyboard, showing the price, signed maximum, charge and receipt', async () => {
    const { seller, buyer } = stand.devnet.accounts
    const before = await stand.usdcOf(seller.address)
    const page = await pages.open('pay')
    await tabTo(page, 'To (empty')
    await page.keyboard.type(NOBODY)
    await tabTo(page, 'Ask for the price')
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: /^Before: at most [\d.]+ USDC$/ }).waitFor()
    await tabTo(page, 'Sign and pay with the local chain’s test key')
    await page.keyboard.press('Enter')
    await page.getByRole('button', { name: new RegExp(`copy ${buyer.address}`) }).waitFor()
    const charged = await page.getByRole('heading', { name: /^After: charged [\d.]+ USDC$/ }).textContent()
    await page.getByText(/^Transaction 0x[0-9a-f]{8}….*, in block \d+$/).waitFor()
    expect(Number(await stand.usdcOf(seller.address)) - Number(before)).toBe(
      Math.round(Number(charged!.split(' ')[2]) * 1e6),
    )
    await page.getByText('✓ Succeeds').waitFor()
    await tabTo(page, 'Receipt')
    await page.keyboard.press('Enter')
    await page.locator('pre', { hasText: '"signature": "0x' }).last().waitFor()
    await page.getByRole('button', { name: 'Check this bill' }).click()
    await page.getByText(/^(The bill is right|Nothing is wrong)/).waitFor()
    await page.getByRole('row', { name: /^execution ✓ right/ }).waitFor()
  })

  inBrowser("pays with the browser's wallet and shows why the wallet refuses", async () => {
    const { buyer } = stand.devnet.accounts
    const wallet = privateKeyToAccount(buyer.privateKey)
    let refuses = true
    const page = await pages.open('pay', {}, async (page) => {
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
    })
    await page.getByLabel(/^To/).fill(NOBODY)
    await page.keyboard.press('Enter')
    const sign = page.getByRole('button', { name: 'Sign and pay with the browser’s wallet' })
    await sign.click()
    expect(await page.getByRole('alert').textContent()).toContain('User rejected the request')
    refuses = false
    await sign.click()
    await page.getByRole('heading', { name: /^After: charged [\d.]+ USDC$/ }).waitFor()
  })

  inBrowser('shows the seller earnings, payments and reconciliation, by keyboard', async () => {
    const page = await pages.open('seller')
    await tabTo(page, 'Billing’s read token')
    await page.keyboard.type(stand.readToken)
    await tabTo(page, 'Open the ledger')
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: /^Earned [\d.]+ USDC · gas [\d.]+ ETH$/ }).waitFor()
    await page.getByRole('img', { name: /^Earned by route and day/ }).waitFor()
    await page.getByRole('cell', { name: 'GET /v1/preview' }).first().waitFor()
    await tabTo(page, 'Price of 1 ETH in USDC')
    await page.keyboard.type('2000')
    await page.getByText(/^Gas took ([\d.]+ % of|[\d.]+ times) what was earned: [\d.]+ USDC are (left|lost)$/).waitFor()
    await tabTo(page, 'pay_')
    await page.keyboard.press('Enter')
    const drawer = page.getByRole('dialog', { name: /^Payment pay_.*: settled$/ })
    await drawer
      .getByRole('table', { name: 'Transactions signed for it' })
      .getByRole('button', { name: /copy 0x[0-9a-f]{64}$/ })
      .waitFor()
    await drawer.getByText(/^maximum 0\.1 USDC$/).waitFor()
    await drawer.getByText(/gas paid 0\.\d+ ETH$/).waitFor()
    await page.keyboard.press('Escape')
    await drawer.waitFor({ state: 'hidden' })
    await tabTo(page, 'Compare with the chain')
    await page.keyboard.press('Enter')
    await page.getByText(/^No differences: \d+ settled payments compared/).waitFor()
  })

  it('answers 401 to ledger requests without a token, and 404 to other ledger paths', async () => {
    for (const path of ['payments', 'payments/totals', 'payments/1', 'accounts', 'reconciliation']) {
      for (const headers of [{}, { authorization: 'Bearer wrong' }] as Record<string, string>[])
        expect((await fetch(`${gateway.url}/v1/seller/${path}`, { headers })).status).toBe(401)
    }
    const headers = { authorization: `Bearer ${stand.token}` }
    for (const path of ['payments.csv', 'payments/..', 'payments/%2e%2e', 'payments/..%2fsupported']) {
      // Sent as is: fetch would resolve the path.
      const asked = request(gateway.url, { path: `/v1/seller/${path}`, headers }).end()
      const [response] = await once(asked, 'response')
      expect([path, response.resume().statusCode]).toEqual([path, 404])
    }
    const refused = await fetch(`${gateway.url}/v1/seller/payments?limit=0`, { headers })
    expect([refused.status, await refused.json()]).toMatchObject([400, { error: { field: 'limit' } }])
  })

  inBrowser.each(LOOKS)('passes axe, %s', async (_, options) => {
    const page = await pages.open('pay', { ...options, bypassCSP: true })
    await page.getByLabel(/^To/).fill(NOBODY)
    await page.keyboard.press('Enter')
    await page.getByRole('button', { name: /^Sign and pay with the local/ }).click()
    await page.getByRole('heading', { name: /^After:/ }).waitFor()
    await page.getByText('Receipt', { exact: true }).click()
    await expectAccessible(page)
    await page.getByRole('link', { name: 'Seller' }).click()
    await page.getByLabel(/^Billing’s read token/).fill(stand.readToken)
    await page.keyboard.press('Enter')
    await page.getByRole('button', { name: /^pay_/ }).first().click()
    await page.getByRole('dialog', { name: /^Payment / }).waitFor()
    await expectAccessible(page)
    await page.keyboard.press('Escape')
    await page.getByRole('button', { name: 'Compare with the chain' }).click()
    await page.getByText(/^No differences/).waitFor()
    await expectAccessible(page)
  })
})
