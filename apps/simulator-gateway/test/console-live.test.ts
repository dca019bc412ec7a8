import type { Page } from 'playwright-core'
import { createTestClient, http, publicActions } from 'viem'
import { foundry } from 'viem/chains'
import { inBrowser } from './chromium.js'
import { consoleOnDevnet, expectAccessible, LOOKS } from './console-page.js'

describe('/console/live', () => {
  const stand = consoleOnDevnet()
  const { pages } = stand

  const chain = () =>
    createTestClient({ chain: foundry, mode: 'anvil', transport: http(stand.devnet.rpcUrl) }).extend(publicActions)

  /** Mines until the page shows so many heads: subscribing takes a moment, and a head before that is not shown. */
  async function mineUntilShown(page: Page, heads: number): Promise<void> {
    const rows = page.getByRole('row')
    while ((await rows.count()) < heads + 1) await chain().mine({ blocks: 1 })
  }

  inBrowser('shows heads as they come, green while nothing is wrong', async () => {
    const page = await pages.open('live')
    await page.getByText('Following the heads').waitFor()
    await mineUntilShown(page, 2)
    const { hash, number } = await chain().getBlock()
    await page.getByRole('button', { name: new RegExp(`copy ${hash}`) }).waitFor()
    await page.locator('.chain').getByText(`#${number}`).waitFor()
    await page.locator('.notice.good').getByText('No gap and no reorganisation lately').waitFor()
  })

  inBrowser('names what is wrong in the order of heads', async () => {
    const page = await pages.open('live')
    await mineUntilShown(page, 3)
    // A head that the page has not seen yet can't be seen to go.
    await page.getByRole('button', { name: new RegExp(`copy ${(await chain().getBlock()).hash}`) }).waitFor()
    await chain().request({ method: 'anvil_reorg', params: [1, []] } as never)
    await chain().mine({ blocks: 1 })
    await page.getByText(/^reorganisation: the chain is another one from block \d+ on$/).waitFor()
  })

  inBrowser.each(LOOKS)('has nothing that axe finds, %s', async (_, options) => {
    const page = await pages.open('live', { ...options, bypassCSP: true })
    await mineUntilShown(page, 2)
    await expectAccessible(page)
  })
})
