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

  /** Mines until the page shows this many heads. Subscribing takes a moment, and earlier heads are not shown. */
  async function mineUntilShown(page: Page, heads: number): Promise<void> {
    const rows = page.getByRole('row')
    while ((await rows.count()) < heads + 1) await chain().mine({ blocks: 1 })
  }

  inBrowser('shows new heads, and a green notice while nothing is wrong', async () => {
    const page = await pages.open('live')
    await page.getByText('Following new blocks').waitFor()
    await mineUntilShown(page, 2)
    const { hash, number } = await chain().getBlock()
    await page.getByRole('button', { name: new RegExp(`copy ${hash}`) }).waitFor()
    await page.locator('.chain').getByText(`#${number}`).waitFor()
    await page.locator('.notice.good').getByText('No gap or reorganisation lately').waitFor()
  })

  inBrowser('reports a reorganisation', async () => {
    const page = await pages.open('live')
    await mineUntilShown(page, 3)
    // The page must show the head before it can notice its removal.
    await page.getByRole('button', { name: new RegExp(`copy ${(await chain().getBlock()).hash}`) }).waitFor()
    await chain().request({ method: 'anvil_reorg', params: [1, []] } as never)
    await chain().mine({ blocks: 1 })
    await page.getByText(/^reorganisation: the chain changed from block \d+ on$/).waitFor()
  })

  inBrowser.each(LOOKS)('passes axe, %s', async (_, options) => {
    const page = await pages.open('live', { ...options, bypassCSP: true })
    await mineUntilShown(page, 2)
    await expectAccessible(page)
  })
})
