import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import type { Page } from 'playwright-core'
import { inBrowser } from './chromium.js'
import { consoleOnDevnet, expectAccessible, LOOKS } from './console-page.js'

const EXAMPLE = join(dirname(createRequire(import.meta.url).resolve('@upfront/receipt/package.json')), 'example.json')
const example = () => JSON.parse(readFileSync(EXAMPLE, 'utf8'))

describe('/console/check', () => {
  const stand = consoleOnDevnet()
  const { pages } = stand

  async function check(page: Page, bill: string): Promise<void> {
    await page.getByLabel(/^The bill as JSON/).fill(bill)
    await page.getByRole('button', { name: 'Check this bill' }).press('Enter')
  }

  it('serves the page with a policy that forbids WebAssembly: only the checker may compile the engine', async () => {
    const policyOf = async (path: string) =>
      (await fetch(`${stand.gateway.url}${path}`)).headers.get('content-security-policy')
    expect(await policyOf('/console/check')).not.toMatch(/wasm|unsafe/)
  })

  inBrowser('verifies a bill from a file by executing it again', async () => {
    const page = await pages.open('check')
    await page.locator('input[type=file]').setInputFiles(EXAMPLE)
    await page.getByText('The bill is right').waitFor()
    await page.getByRole('row', { name: /^execution ✓ right portable: [\d]+ gas/ }).waitFor()
    // In the reader's locale.
    const signedAt = page.getByRole('row', { name: /^signature/ }).locator('time')
    expect(await signedAt.textContent()).not.toMatch(/\dT\d/)
  })

  inBrowser('reports a wrong bill, missing parts and input that is not a bill', async () => {
    const page = await pages.open('check')
    const bill = example()
    bill.answer.result[0].calls[0].gasUsed = '0x1'
    await check(page, JSON.stringify(bill))
    await page.getByText('The bill is wrong').waitFor()
    await page.getByRole('row', { name: /^execution ✗ wrong/ }).waitFor()

    const { seller: _, ...rest } = example()
    await check(page, JSON.stringify(rest))
    await page.getByText('Nothing is wrong, but not everything could be checked').waitFor()

    await check(page, '{"request": {"url": "http://a/"}}')
    await page.getByRole('alert').getByText('answer: is missing').waitFor()
    await check(page, '{')
    await page.getByRole('alert').getByText('not JSON').waitFor()
    expect(await page.getByText('The bill is').count()).toBe(0)
  })

  inBrowser.each(LOOKS)('passes axe, %s', async (_, options) => {
    const page = await pages.open('check', { ...options, bypassCSP: true })
    await check(page, JSON.stringify(example()))
    await page.getByText('The bill is right').waitFor()
    await expectAccessible(page)
  })
})
