import { execFileSync } from 'node:child_process'
import { createRequire } from 'node:module'
import { type Browser, chromium, type Page } from 'playwright-core'

/** Where a Chromium is; undefined where there is none. */
const executablePath = (() => {
  try {
    return execFileSync('sh', ['-c', 'command -v chromium || command -v google-chrome'], { encoding: 'utf8' }).trim()
  } catch {
    return undefined
  }
})()
if (executablePath === undefined) console.log('the tests of /console in a browser are skipped: there is no Chromium')

/** A test that needs {@link launchBrowser}. */
export const inBrowser = executablePath === undefined ? it.skip : it

/** Undefined where there is no Chromium. */
export async function launchBrowser(): Promise<Browser | undefined> {
  return executablePath === undefined ? undefined : chromium.launch({ executablePath })
}

/** What axe finds wrong, with the elements. The page is to be opened with `bypassCSP`. */
export async function axeViolations(page: Page): Promise<[string, string[]][]> {
  if (!(await page.evaluate('"axe" in window')))
    await page.addScriptTag({ path: createRequire(import.meta.url).resolve('axe-core/axe.min.js') })
  const { violations } = (await page.evaluate('axe.run()')) as {
    violations: { id: string; nodes: { html: string }[] }[]
  }
  return violations.map(({ id, nodes }) => [id, nodes.map(({ html }) => html)])
}
