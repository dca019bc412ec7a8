import { gzipSync } from 'node:zlib'
import { usdcAbi } from '@upfront/devnet'
import type { Locator, Page } from 'playwright-core'
import { encodeErrorResult, encodeFunctionData, parseAbi, toEventSelector } from 'viem'
import { assemble } from './assemble.js'
import { inBrowser } from './chromium.js'
import { consoleOnDevnet, expectAccessible, LOOKS, paste, result, tabTo } from './console-page.js'
import { startGateway } from './gateway-process.js'
import { until } from './preconfirmed-stand.js'

const NOBODY = '0x00000000000000000000000000000000000b0b00'
const LIAR = '0x0000000000000000000000000000000000011a50'

/** The part of a DOM element that a test reads: DOM types are not available here. */
interface Group {
  querySelector(selector: 'rect' | 'title'): { getAttribute(name: string): string | null; textContent: string }
}

describe('/console', () => {
  const stand = consoleOnDevnet()
  const { pages } = stand

  /** Code that reverts with these data: it copies the bytes after its first 12 to memory. */
  const reverting = (data: string) => {
    const length = ((data.length - 2) / 2).toString(16).padStart(2, '0')
    return `0x60${length}600c60003960${length}6000fd${data.slice(2)}`
  }
  const unfold = (page: Page, title: string | RegExp) => page.locator('summary', { hasText: title }).first().click()

  it('is served with a strict content security policy, and serves only its own files', async () => {
    const { redirected, headers, status } = await fetch(`${stand.gateway.url}/console`)
    expect({ redirected, status }).toEqual({ redirected: true, status: 200 })
    expect(headers.get('content-security-policy')).toMatch(/^default-src 'none'; script-src 'self'; style-src 'self';/)
    for (const view of ['live', 'pay', 'seller', 'check'])
      expect((await fetch(`${stand.gateway.url}/console/${view}`)).headers.get('content-type')).toMatch(/html/)
    for (const path of ['..%2fpackage.json', '%2e%2e/package.json', '.vite/manifest.json', 'nothing.js'])
      expect((await fetch(`${stand.gateway.url}/console/${path}`)).status).toBeGreaterThanOrEqual(400)
  })

  it('is not served with CONSOLE=off', async () => {
    const without = await startGateway({ UPSTREAM_RPC_URL: stand.devnet.rpcUrl, CONSOLE: 'off' })
    expect((await fetch(`${without.url}/console/`)).status).toBe(404)
    await without.stop()
  })

  it('loads less than 250 kB, compressed, before another view is opened', async () => {
    const page = await (await fetch(`${stand.gateway.url}/console/`)).text()
    const files = [...page.matchAll(/(?:src|href)="(\/console\/[^"]+)"/g)].map(([, path]) => path)
    expect(files.length).toBeGreaterThan(1)
    let length = 0
    for (const path of files)
      length += gzipSync(Buffer.from(await (await fetch(`${stand.gateway.url}${path}`)).arrayBuffer())).length
    expect(length).toBeLessThan(250_000)
  })

  inBrowser('draws transfers and marks those that balances contradict', async () => {
    const { buyer, seller } = stand.devnet.accounts
    const sig = (event: string) => BigInt(toEventSelector(event))
    const [from, to] = [BigInt(buyer.address), BigInt(NOBODY)]
    // Called without data, it emits two transfers and an approval. Asked for a balance or an owner, it returns zero.
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
    const page = await pages.open()
    await paste(page, { blockStateCalls: [{ stateOverrides: { [LIAR]: { code: liar } }, calls }] })
    await result(page)
      .getByText(/^You send 1\.5 USDC, 1 ETH, supposedly 5 units and supposedly token no\. 7\./)
      .waitFor()
    const flows = result(page).getByRole('list', { name: 'Gives and receives in total' }).locator('li > :first-child')
    expect(await flows.allTextContents()).toEqual(['− 1 ETH', '− 1.5 USDC', '− 5 units', '− token no. 7'])
    await result(page).getByText('A token’s logs contradict its balances').waitFor()
    const [honest, lying] = [0, 1].map((at) => page.locator('.calls > li').nth(at))
    const picture = honest!.getByRole('img', { name: 'What changes hands: 1 arrow between 2 addresses' })
    await picture.getByText('1.5 USDC').nth(1).waitFor()
    expect(await picture.locator('.signer').textContent()).toContain(buyer.address)
    expect(await honest!.getByText('⚠').count()).toBe(0)

    const doubted = lying!.getByRole('img', { name: 'What changes hands: 4 arrows between 3 addresses' })
    expect(await doubted.locator('.contradicted text').allTextContents()).toEqual(['⚠ 5 units', '⚠ token no. 7'])
    expect(await doubted.locator('.arrow.approval').count()).toBe(1)
    const table = lying!.getByRole('table', { name: 'What changes hands' })
    expect(await table.getByRole('row', { name: /⚠ contradicted by the token’s balances/ }).count()).toBe(2)
  })

  inBrowser('shows below the summary whether the outcome would hold', async () => {
    const pay = (wei: string) => `0 0 0 0 ${wei} ${BigInt(NOBODY)} GAS CALL POP`
    const programs: [string, RegExp][] = [
      [`${pay('5')} STOP`, /^Holds: the same a minute later/],
      [`${pay('NUMBER')} STOP`, /^Changes if: .*blocks later/],
      [
        `PREVRANDAO ISZERO >honest JUMPI ${pay('9')} STOP @honest ${pay('5')} STOP`,
        /^Behaves differently in a simulation: it looks at /,
      ],
    ]
    const page = await pages.open()
    for (const [program, said] of programs) {
      const stateOverrides = { [LIAR]: { code: assemble(program), balance: '0xde0b6b3a7640000' } }
      await paste(page, { blockStateCalls: [{ stateOverrides, calls: [{ to: LIAR }] }] })
      await result(page).locator('.holding').getByText(said).waitFor()
    }
  })

  inBrowser('limits the picture and the table of 300 transfers', async () => {
    // Sends 1 wei to each of 300 addresses.
    const code = assemble('300 @loop 0 0 0 0 1 DUP6 4096 ADD 0 CALL POP 1 SWAP1 SUB DUP1 >loop JUMPI STOP')
    const page = await pages.open()
    const stateOverrides = { [LIAR]: { code, balance: '0xffff' } }
    await paste(page, { blockStateCalls: [{ stateOverrides, calls: [{ to: LIAR }] }] })
    await result(page).getByText('Shown: the 40 most important of 300 arrows. The table has all of them.').waitFor()
    const rows = result(page).getByRole('table', { name: 'What changes hands' }).getByRole('row')
    expect(await rows.count()).toBe(101)
    await result(page).getByRole('button', { name: 'Show more: 100 of 300 rows are shown' }).press('Enter')
    expect(await rows.count()).toBe(301)
  })

  inBrowser('shows an example and its remedy, and Back returns to the request', async () => {
    const page = await pages.open()
    await page.getByRole('button', { name: 'A swap that fails', exact: true }).click()
    await result(page).getByText('✗ Fails: the allowance is too low: 0 allowed, 1.5 needed').waitFor()
    await result(page)
      .getByText(/^In WETH\.transferFrom, called by .*\.swap\.$/)
      .waitFor()
    await result(page)
      .locator('.frame', { hasText: /amountIn 1\.5 WETH, tokenOut TUSD, amountOut 4485\.6 TUSD/ })
      .waitFor()
    await result(page)
      .getByRole('button', { name: /^Allow .* to take what it needs first$/ })
      .click()
    await result(page)
      .getByText(/You send 1.5 WETH and receive 4485.6 TUSD\./)
      .waitFor()
    await page.goBack()
    await result(page).getByText('✗ Fails: the allowance is too low').waitFor()
    await page.getByRole('button', { name: 'Clear' }).click()
    await result(page).getByRole('button', { name: 'A swap', exact: true }).click()
    await result(page).getByText('You send 1.5 WETH and receive 4485.6 TUSD. Nobody gains an allowance.').waitFor()
  })

  inBrowser('counts only the allowance that remains after the calls', async () => {
    const page = await pages.open()
    await page.getByRole('button', { name: 'Approve and swap', exact: true }).click()
    await result(page).getByText('You send 1.5 WETH and receive 4485.6 TUSD. Nobody gains an allowance.').waitFor()
    await result(page)
      .getByRole('heading', { name: /^1\. approve\(spender .*, value 1\.5 WETH\)$/ })
      .waitFor()
  })

  inBrowser.each([
    ['An unlimited allowance', 'may take all of your WETH, now and later.', 'An unlimited allowance: all WETH'],
    ['A delegation (EIP-7702)', 'You send 0.1 ETH.', 'Hands an account over to a contract (EIP-7702)'],
    ['A lying token', 'You receive supposedly 1000 units.', 'A token’s logs contradict its balances'],
  ])('warns in the example “%s”', async (name, sentence, warning) => {
    const page = await pages.open()
    await page.getByRole('button', { name, exact: true }).click()
    await result(page).getByText(sentence).waitFor()
    await result(page).getByText(warning).waitFor()
  })

  inBrowser.each([
    ['Too little gas', '✗ Fails: out of gas', /^Give it [\d,]+ gas$/],
    [
      'Too little of a token',
      'allowance is too low',
      /^Allow .* first, then pretend that .* holds what it needs of the token$/,
    ],
    ['Too little ether', 'insufficient funds', /^Pretend that .* holds 6 ETH$/],
  ])('offers a remedy that works in the example “%s”', async (name, failure, remedy) => {
    const page = await pages.open()
    await page.getByRole('button', { name, exact: true }).click()
    await result(page).getByText(failure).first().waitFor()
    await result(page).getByRole('button', { name: remedy }).click()
    await result(page).getByText(/^✓/).first().waitFor()
  })

  inBrowser('shows why and where a call fails, and a link restores it', async () => {
    const data = encodeErrorResult({ abi: parseAbi(['error Error(string)']), errorName: 'Error', args: ['not today'] })
    const page = await pages.open()
    await unfold(page, 'State overrides')
    await page.getByLabel(/JSON by address/).fill(JSON.stringify({ [NOBODY]: { code: reverting(data) } }))
    await page.getByLabel(/^To/).fill(NOBODY)
    await page.getByRole('button', { name: 'Simulate' }).press('Enter')
    await result(page).getByText('✗ Fails: not today').waitFor()
    await result(page)
      .getByText(/failed here: not today/)
      .waitFor()
    const linked = await pages.open(new URL(page.url()).hash)
    await result(linked).getByText('✗ Fails: not today').waitFor()
  })

  inBrowser('keeps the form while another view is open', async () => {
    const page = await pages.open()
    await paste(page, { to: LIAR, value: '1' })
    await result(page).getByText('✓ Succeeds').waitFor()
    await page.getByLabel('From').fill(NOBODY)
    await page.getByRole('link', { name: 'Live' }).click()
    await page.getByText(/^Following new blocks/).waitFor()
    await page.goBack()
    expect(await page.getByLabel('From').inputValue()).toBe(NOBODY)
    expect(await page.getByLabel(/^To/).inputValue()).toBe(LIAR)
    await result(page).getByText('The form has changed since this result').waitFor()
  })

  inBrowser('shows what is wrong with a field next to it', async () => {
    const page = await pages.open()
    await page.getByLabel('From').fill('0x12')
    await page.getByRole('button', { name: 'Simulate' }).click()
    await page.getByRole('alert').getByText('Call 1, from: not an address of 20 bytes').waitFor()
    expect(await page.getByLabel('From').getAttribute('aria-invalid')).toBe('true')
    expect(await page.evaluate('document.activeElement.id')).toBe('blocks.0.calls.0.from')
    await page.getByLabel('From').fill(NOBODY)
    await unfold(page, 'Gas, nonce and fees')
    await page.getByLabel('Gas limit').fill('much')
    await page.keyboard.press('Enter')
    await page.getByRole('alert').getByText('Call 1, gas: not a whole number').waitFor()
  })

  inBrowser('warns of a transfer of ownership, but not of the first owner', async () => {
    const owned = (event: bigint, before: string) =>
      assemble(`${BigInt(LIAR)} ${BigInt(before)} ${event} 0 0 LOG3 STOP`)
    const event = BigInt(toEventSelector('OwnershipTransferred(address,address)'))
    const page = await pages.open()
    for (const [before, count] of [
      [stand.devnet.accounts.buyer.address, 1],
      [`0x${'0'.repeat(40)}`, 0],
    ] as const) {
      await paste(page, {
        blockStateCalls: [{ stateOverrides: { [NOBODY]: { code: owned(event, before) } }, calls: [{ to: NOBODY }] }],
      })
      await result(page).getByText('1 log').waitFor()
      await result(page).getByText('✓ Succeeds').waitFor()
      await until(async () => (await result(page).getByText('Ownership is transferred').count()) === count)
    }
  })

  inBrowser('shows functions, state changes, gas and logs by name', async () => {
    const page = await pages.open()
    await page.getByRole('button', { name: 'A swap', exact: true }).click()
    await result(page).getByText('✓ Succeeds').waitFor()
    const open = async (title: RegExp): Promise<Locator> => {
      const part = result(page).locator('details.more', { has: page.locator('summary', { hasText: title }) })
      await part.locator('summary').first().click()
      return part
    }
    const tree = await open(/^Call tree$/)
    for (const name of ['swap', 'transferFrom', 'transfer']) await tree.getByText(name, { exact: true }).waitFor()
    const state = await open(/^State changes/)
    await state.getByRole('row', { name: /balance of .* 3 WETH 1\.5 WETH/ }).waitFor()
    const flames = (await open(/^Gas/)).getByRole('img', { name: /^Gas by frame: 3 frames, [\d,]+ gas in all$/ })
    await flames.waitFor()
    await expectFlames(flames)
    await (await open(/logs$/)).getByText('Transfer').first().waitFor()
  })

  /** Frames lie below their caller, side by side, as wide as their share of its gas. */
  async function expectFlames(flames: Locator): Promise<void> {
    const bars = await flames.locator('g').evaluateAll((groups: Group[]) =>
      groups.map((group) => {
        const rectangle = group.querySelector('rect')
        const [x, y, width] = ['x', 'y', 'width'].map((name) => Number(rectangle.getAttribute(name)))
        const [, label, gas] = /^(.*): ([\d,]+) gas$/.exec(group.querySelector('title').textContent) ?? []
        return { x: x!, y: y!, width: width!, label, gas: Number(gas?.replaceAll(',', '')) }
      }),
    )
    const [swap, pays, gets] = bars
    expect(bars.map(({ label }) => label?.split('.').at(-1))).toEqual(['swap', 'transferFrom', 'transfer'])
    expect(pays!.y).toBeGreaterThan(swap!.y)
    expect([gets!.y, pays!.x]).toEqual([pays!.y, swap!.x])
    expect(gets!.x).toBeGreaterThanOrEqual(pays!.x + pays!.width)
    for (const { width, gas } of [pays!, gets!])
      expect(Math.abs(width / swap!.width - gas / swap!.gas)).toBeLessThan(0.01)
  }

  inBrowser('accepts blocks, overrides and an ABI function by form, and decodes by the ABI', async () => {
    const data = encodeErrorResult({ abi: parseAbi(['error Late(uint256 by)']), errorName: 'Late', args: [7n] })
    const page = await pages.open()
    await unfold(page, /^ABI/)
    await page.getByLabel(/^JSON, or lines/).fill('function arrive(uint256 when)\nerror Late(uint256 by)')
    await page.getByLabel(/^To/).fill(NOBODY)
    await page.getByLabel('Function', { exact: true }).selectOption('arrive(uint256)')
    await page.getByLabel('when (uint256)').fill('12')
    await unfold(page, 'State overrides')
    await page.getByRole('button', { name: 'Override an account' }).press('Enter')
    await page.getByLabel('Address', { exact: true }).fill(NOBODY)
    await page.getByLabel('Code (0x-hex)').fill(reverting(data))
    await page.getByRole('button', { name: 'Add a block' }).press('Enter')
    const second = page.getByRole('region', { name: 'Block 2' })
    await second.locator('summary', { hasText: 'The block itself' }).click()
    await second.getByLabel('Block number').fill('100')
    await page.getByRole('button', { name: 'Simulate' }).press('Enter')
    await result(page).getByText('✗ Call 1 of 2 fails: Late(by: 7)').waitFor()
    await result(page).getByRole('heading', { name: '1. arrive(when 12)' }).waitFor()
    await result(page)
      .getByText(/^As block \d+, 100/)
      .waitFor()
  })

  inBrowser('fills in the account of a wallet announced by EIP-6963', async () => {
    const page = await pages.open('', {}, (page) =>
      page.addInitScript(`window.addEventListener('eip6963:requestProvider', () => {
        const detail = { info: { uuid: '1', name: 'Tried' }, provider: { request: async () => ['${NOBODY}'] } }
        window.dispatchEvent(new CustomEvent('eip6963:announceProvider', { detail }))
      })`),
    )
    await page.getByRole('button', { name: 'As my account in Tried' }).click()
    await until(async () => (await page.getByLabel('From').inputValue()) === NOBODY)
  })

  inBrowser('works by keyboard', async () => {
    const page = await pages.open()
    await tabTo(page, 'A swap')
    await page.keyboard.press('Enter')
    await result(page).getByText('✓ Succeeds').waitFor()
    await tabTo(page, 'Call tree')
    await page.keyboard.press('Enter')
    await result(page).getByText('transferFrom', { exact: true }).waitFor()
  })

  inBrowser.each(LOOKS)('passes axe, %s, and shows the result on the first screen', async (_, options) => {
    const page = await pages.open('', { ...options, bypassCSP: true })
    await expectAccessible(page)
    await page.getByRole('button', { name: 'An unlimited allowance' }).click()
    const sentence = result(page).getByText('may take all of your WETH')
    await sentence.waitFor()
    const { y } = (await sentence.boundingBox())!
    expect(y).toBeLessThan(options.viewport!.height)
    for (const title of ['Call tree', 'State changes', 'Gas:', '1 log', 'The request as code'])
      await result(page).locator('summary', { hasText: title }).first().click()
    await expectAccessible(page)
    await page.getByRole('button', { name: 'Clear' }).click()
    await page.getByRole('button', { name: 'A swap that fails' }).click()
    await result(page)
      .getByRole('button', { name: /^Allow/ })
      .waitFor()
    await expectAccessible(page)
  })
})
