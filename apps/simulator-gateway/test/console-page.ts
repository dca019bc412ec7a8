import type { Browser, Page } from 'playwright-core'
import { axeViolations } from './chromium.js'

export type PageOptions = NonNullable<Parameters<Browser['newPage']>[0]>

/** The two sizes of which every view is tried, and the colours of each. */
export const LOOKS: [string, PageOptions][] = [
  ['on a phone, light', { viewport: { width: 360, height: 740 }, colorScheme: 'light' }],
  ['on a phone, dark', { viewport: { width: 360, height: 740 }, colorScheme: 'dark' }],
  ['on a desk, light', { viewport: { width: 1280, height: 900 }, colorScheme: 'light' }],
  ['on a desk, dark', { viewport: { width: 1280, height: 900 }, colorScheme: 'dark' }],
]

/** Opens pages of `/console`, and notes what they complain of: blocked by the security policy, thrown, not found. */
export class ConsolePages {
  readonly #complaints: string[] = []

  constructor(
    private readonly browser: Browser,
    private readonly url: string,
  ) {}

  async open(path = '', options: PageOptions = {}, prepare?: (page: Page) => Promise<unknown>): Promise<Page> {
    const page = await this.browser.newPage(options)
    page.on('console', (message) => {
      // Asking for a price is answered with 402, which Chromium calls an error.
      if (message.type() === 'error' && !/status of 402/.test(message.text())) this.#complaints.push(message.text())
    })
    page.on('pageerror', (error) => this.#complaints.push(error.message))
    await prepare?.(page)
    await page.goto(`${this.url}/console/${path}`)
    await page.locator('.chain').getByText(/^#\d+/).waitFor()
    // Set once the gateway has named its chain.
    await page.waitForFunction("document.title.split(' · ').length === 3")
    return page
  }

  /** What was complained of since. */
  complaints(): string[] {
    return this.#complaints.splice(0)
  }
}

/** Pastes into the box that takes everything. */
export async function paste(page: Page, pasted: unknown): Promise<void> {
  await page.getByLabel(/^Paste anything/).fill(typeof pasted === 'string' ? pasted : JSON.stringify(pasted))
}

/** Presses Tab until what has the focus, or its label, begins with the text. */
export async function tabTo(page: Page, text: string): Promise<void> {
  const focused = '(document.activeElement.labels?.[0] ?? document.activeElement).textContent'
  for (let presses = 0; presses < 80; presses++) {
    await page.keyboard.press('Tab')
    if (String(await page.evaluate(focused)).startsWith(text)) return
  }
  throw new Error(`Tab does not reach ${text}`)
}

/** That axe finds nothing, and that nothing is wider than the screen. The page is to be opened with `bypassCSP`. */
export async function expectAccessible(page: Page): Promise<void> {
  expect(await axeViolations(page)).toEqual([])
  const wider = '[document.documentElement.scrollWidth, document.documentElement.clientWidth]'
  const [content, screen] = (await page.evaluate(wider)) as [number, number]
  expect(content).toBeLessThanOrEqual(screen)
}
