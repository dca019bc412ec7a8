import { execFileSync } from 'node:child_process'
import { createRequire } from 'node:module'
import { type Browser, chromium, type Page } from 'playwright-core'

/** Path of an installed Chromium. */
const executablePath = (() => {
  try {
    return execFileSync(
      'sh',
      ['-c', 'command -v chromium-headless-shell || command -v chromium || command -v google-chrome'],
      { encoding: 'utf8' },
    ).trim()
  } catch {
    return undefined
  }
})()
if (executablePath === undefined) console.log('the tests of /console in a browser are skipped: there is no Chromium')

/** A test that needs {@link launchBrowser}. */
export const inBrowser = executablePath === undefined ? it.skip : it

/** Returns undefined if no Chromium is installed. */
export async function launchBrowser(): Promise<Browser | undefined> {
  return executablePath === undefined ? undefined : chromium.launch({ executablePath })
}

/** axe's violations with their elements. The page must be opened with `bypassCSP`. */
export async function axeViolations(page: Page): Promise<[string, string[]][]> {
  if (!(await page.evaluate('"axe" in window')))
    await page.addScriptTag({ path: createRequire(import.meta.url).resolve('axe-core/axe.min.js') })
  const { violations } = (await page.evaluate('axe.run()')) as {
    violations: { id: string; nodes: { html: string }[] }[]
  }
  return violations.map(({ id, nodes }) => [id, nodes.map(({ html }) => html)])
}
