import { execFileSync } from 'node:child_process'
import { createRequire } from 'node:module'
import { type Anvil, DEVNET_ROLES, startAnvil } from '@upfront/devnet'
import { type Browser, chromium, type Page } from 'playwright-core'
import {
  createTestClient,
  createWalletClient,
  encodeErrorResult,
  http,
  parseAbi,
  parseEther,
  publicActions,
} from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { foundry } from 'viem/chains'
import { type GatewayProcess, startGatewayProcess } from './gateway-process.js'

const NOBODY = '0x00000000000000000000000000000000000b0b00'

/** Where a Chromium is; undefined where there is none. */
function chromiumPath(): string | undefined {
  try {
    return execFileSync('sh', ['-c', 'command -v chromium || command -v google-chrome'], { encoding: 'utf8' }).trim()
  } catch {
    return undefined
  }
}

const executablePath = chromiumPath()
if (executablePath === undefined) console.log('the tests of /console in a browser are skipped: there is no Chromium')
const inBrowser = executablePath === undefined ? it.skip : it

describe('/console', () => {
  let anvil: Anvil
  let gateway: GatewayProcess
  let browser: Browser | undefined
  /** What each page complained of: blocked by its security policy, thrown, not found. */
  const complaints: string[] = []

  beforeAll(async () => {
    anvil = await startAnvil(['--port', '0'])
    gateway = await startGatewayProcess({
      UPSTREAM_RPC_URL: anvil.rpcUrl,
      UPSTREAM_WS_URL: anvil.rpcUrl.replace('http', 'ws'),
    })
    if (executablePath !== undefined) browser = await chromium.launch({ executablePath })
  })
  afterAll(async () => {
    await browser?.close()
    await gateway?.stop()
    await anvil?.stop()
  })
  afterEach(() => expect(complaints.splice(0)).toEqual([]))

  async function open(options: Parameters<Browser['newPage']>[0] = {}, fragment = ''): Promise<Page> {
    const page = await browser!.newPage(options)
    page.on('console', (message) => message.type() === 'error' && complaints.push(message.text()))
    page.on('pageerror', (error) => complaints.push(error.message))
    await page.goto(`${gateway.url}/console/${fragment}`)
    return page
  }

  it('is served with a strict security policy, and only its own files', async () => {
    const { redirected, headers, status } = await fetch(`${gateway.url}/console`)
    expect({ redirected, status }).toEqual({ redirected: true, status: 200 })
    expect(headers.get('content-security-policy')).toMatch(/^default-src 'none'; script-src 'self'; style-src 'self';/)
    for (const path of ['..%2fpackage.json', '%2e%2e/package.json', '.vite/manifest.json', 'nothing.js'])
      expect((await fetch(`${gateway.url}/console/${path}`)).status).toBeGreaterThanOrEqual(400)
  })

  it('can be switched off', async () => {
    const without = await startGatewayProcess({ UPSTREAM_RPC_URL: anvil.rpcUrl, CONSOLE: 'off' })
    expect((await fetch(`${without.url}/console/`)).status).toBe(404)
    await without.stop()
  })

  inBrowser('shows on latest and pending what a pasted transaction moves', async () => {
    const account = privateKeyToAccount(DEVNET_ROLES.deployer.privateKey)
    const wallet = createWalletClient({ account, chain: foundry, transport: http(anvil.rpcUrl) })
    const request = await wallet.prepareTransactionRequest({ to: NOBODY, value: parseEther('0.25') })
    const page = await open()
    await page.getByLabel(/Paste a signed transaction/).fill(await wallet.signTransaction(request))
    for (const block of ['latest', 'pending']) {
      const side = page.getByRole('region', { name: `On ${block}` })
      await side.getByText('Succeeds · 21,000 gas').waitFor()
      expect(await side.getByRole('row').nth(1).textContent()).toContain('0.25 ETH')
      expect(await side.getByRole('row').nth(1).textContent()).toContain(account.address.toLowerCase())
    }
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
    const chain = createTestClient({ chain: foundry, mode: 'anvil', transport: http(anvil.rpcUrl) }).extend(
      publicActions,
    )
    const rows = page.getByRole('row')
    // Subscribing takes a moment: a head before that is not shown.
    while ((await rows.count()) < 2) await chain.mine({ blocks: 1 })
    const { hash } = await chain.getBlock()
    await page.getByText(hash).waitFor()
    await page.close()
  })

  inBrowser.each(['light', 'dark'] as const)('has nothing that axe finds, on a phone, %s', async (colorScheme) => {
    const axe = createRequire(import.meta.url).resolve('axe-core/axe.min.js')
    const page = await open({ colorScheme, viewport: { width: 360, height: 740 }, bypassCSP: true })
    await page.getByLabel(/^To/).fill(NOBODY)
    await page.keyboard.press('Enter')
    await page.getByText('Succeeds').nth(1).waitFor()
    const check = async () => {
      const { violations } = (await page.evaluate('axe.run()')) as {
        violations: { id: string; nodes: { html: string }[] }[]
      }
      expect(violations.map(({ id, nodes }) => [id, nodes.map(({ html }) => html)])).toEqual([])
      expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(360)
    }
    await page.addScriptTag({ path: axe })
    await check()
    await page.getByRole('button', { name: 'Live' }).click()
    await check()
    await page.close()
  })
})
