import { type Devnet, startDevnet } from '@upfront/devnet'
import type { Browser, Page } from 'playwright-core'
import { axeViolations, launchBrowser } from './chromium.js'
import { type GatewayProcess, startGateway } from './gateway-process.js'
import { until } from './preconfirmed-stand.js'

export type PageOptions = NonNullable<Parameters<Browser['newPage']>[0]>

/** The two sizes in which every view is tested, each in its colour schemes. */
const ALL_LOOKS: [string, PageOptions][] = [
  ['on a phone, light', { viewport: { width: 360, height: 740 }, colorScheme: 'light' }],
  ['on a phone, dark', { viewport: { width: 360, height: 740 }, colorScheme: 'dark' }],
  ['on a desk, light', { viewport: { width: 1280, height: 900 }, colorScheme: 'light' }],
  ['on a desk, dark', { viewport: { width: 1280, height: 900 }, colorScheme: 'dark' }],
]
/** Each size and each colour scheme once; `npm run test:looks` runs all combinations. */
export const LOOKS = process.env.CONSOLE_LOOKS === 'all' ? ALL_LOOKS : ALL_LOOKS.slice(1, 3)

/**
 * Opens pages of `/console` for the tests of the calling `describe`: starts what they need and a browser if there is one, and stops both.
 * A test fails if its page reports an error: blocked by the security policy, thrown, not found. Tests share one page, because a new one
 * takes a CPU-second; each starts from an empty page, with nothing stored by the console. Pages with options are closed.
 * @param start starts a gateway and its dependencies. @returns the gateway's URL
 * @param stop stops what was started, even if only a part was
 */
export function consolePages(start: () => Promise<string>, stop: () => Promise<unknown>) {
  const complaints: string[] = []
  const opened: Page[] = []
  let kept: Page | undefined
  let browser: Browser | undefined
  let url: string
  beforeAll(async () => {
    url = await start()
    browser = await launchBrowser()
  }, 300_000)
  afterAll(async () => {
    await browser?.close()
    await stop()
  })
  afterEach(async () => {
    const complained = complaints.splice(0)
    for (const page of opened.splice(0)) await (page === kept ? page.goto('about:blank') : page.close())
    // While a page is left, it may report connections that were not open yet.
    complaints.length = 0
    expect(complained).toEqual([])
  })

  async function open(path = '', options?: PageOptions, prepare?: (page: Page) => Promise<unknown>): Promise<Page> {
    const isPlain = options === undefined && kept !== undefined && !opened.includes(kept)
    const page = isPlain ? kept! : await makePage(options)
    if (options === undefined) kept ??= page
    opened.push(page)
    await prepare?.(page)
    await page.goto(`${url}/console/${path}`)
    await page.locator('.chain').getByText(/^#\d+/).waitFor()
    // The title is set once the gateway has named its chain.
    await titled(page, /^.+ · .+ · Upfront$/)
    return page
  }

  async function makePage(options: PageOptions = {}): Promise<Page> {
    const page = await browser!.newPage(options)
    page.on('console', (message) => {
      // A price request is answered with 402, which Chromium logs as an error.
      if (message.type() === 'error' && !/status of 402/.test(message.text())) complaints.push(message.text())
    })
    page.on('pageerror', (error) => complaints.push(error.message))
    return page
  }
  return { open }
}

/** {@link consolePages} on a local chain: `devnet` and `gateway` are available once the tests run. */
export function consoleOnDevnet() {
  const stand = {} as { devnet: Devnet; gateway: GatewayProcess }
  const start = async () => {
    stand.devnet = await startDevnet()
    const { rpcUrl } = stand.devnet
    const upstream = { UPSTREAM_RPC_URL: rpcUrl, UPSTREAM_WS_URL: rpcUrl.replace('http', 'ws') }
    stand.gateway = await startGateway(upstream)
    return stand.gateway.url
  }
  const stop = async () => {
    await stand.gateway?.stop()
    await stand.devnet?.stop()
  }
  return Object.assign(stand, { pages: consolePages(start, stop) })
}

/** Waits for the title. (`waitForFunction` polls by `eval`, which the page's policy forbids.) */
export function titled(page: Page, title: RegExp): Promise<void> {
  return until(async () => title.test(await page.title()))
}

/** The page's result of a request. */
export const result = (page: Page) => page.getByRole('region', { name: 'Result' })

/** Pastes into the input that accepts anything. */
export async function paste(page: Page, pasted: unknown): Promise<void> {
  await page.getByLabel(/^Paste anything/).fill(typeof pasted === 'string' ? pasted : JSON.stringify(pasted))
}

/** Presses Tab until the focused element, or its label, begins with the text. */
export async function tabTo(page: Page, text: string): Promise<void> {
  const focused = '(document.activeElement.labels?.[0] ?? document.activeElement).textContent'
  for (let presses = 0; presses < 80; presses++) {
    await page.keyboard.press('Tab')
    if (String(await page.evaluate(focused)).startsWith(text)) return
  }
  throw new Error(`Tab does not reach ${text}`)
}

/** Expects no axe violation and nothing wider than the screen. The page must be opened with `bypassCSP`. */
export async function expectAccessible(page: Page): Promise<void> {
  expect(await axeViolations(page)).toEqual([])
  const wider = '[document.documentElement.scrollWidth, document.documentElement.clientWidth]'
  const [content, screen] = (await page.evaluate(wider)) as [number, number]
  expect(content).toBeLessThanOrEqual(screen)
}
