import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type Browser, chromium } from 'playwright-core'

const at = (path: string) => fileURLToPath(new URL(path, import.meta.url))
const executablePath = findBrowser()
if (executablePath === undefined) console.log('a bill is not checked in a browser: Chromium is not installed')
const describeInBrowser = executablePath === undefined ? describe.skip : describe

describeInBrowser('a bill checked on a page', () => {
  const folder = mkdtempSync(join(tmpdir(), 'page-'))
  let server: Server
  let browser: Browser

  beforeAll(async () => {
    // By itself: vite does not run in jest's.
    execFileSync(process.execPath, ['--input-type=module', '--eval', BUILD, folder], { cwd: at('..') })
    server = createServer((request, response) => {
      const name = request.url?.slice(1) ?? ''
      const type = { js: 'text/javascript', wasm: 'application/wasm', json: 'application/json' }[
        name.split('.').at(-1)!
      ]
      response.setHeader('content-type', type ?? 'text/html')
      if (name === 'portable.wasm') response.end(readFileSync(at('../../engine-revm/portable.wasm')))
      else if (name === 'example.json') response.end(readFileSync(at('../example.json')))
      else response.end(name.endsWith('.js') ? readFileSync(join(folder, name)) : '<!doctype html><title>bill</title>')
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    browser = await chromium.launch({ executablePath: executablePath! })
  }, 120_000)

  afterAll(async () => {
    await browser?.close()
    server?.close()
    rmSync(folder, { recursive: true, force: true })
  })

  it('is right, and wrong where it was changed, without another request', async () => {
    const page = await browser.newPage()
    await page.goto(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`)
    const requests: string[] = []
    page.on('request', (request) => requests.push(new URL(request.url()).pathname))
    const found = await page.evaluate(async (script) => new Function(`return (${script})()`)(), CHECK)
    expect(found).toEqual({
      verdict: 'right',
      execution: expect.stringMatching(/^portable: \d+ gas/),
      changed: 'wrong',
    })
    expect(requests.filter((path) => !/\.js$/.test(path)).sort()).toEqual(['/example.json', '/portable.wasm'])
  }, 120_000)
})

const BUILD = `
  import { build } from 'vite'
  import { pageAliases } from '@upfront/receipt/page/vite'
  const outDir = process.argv.at(-1)
  const lib = { entry: 'dist/page.js', formats: ['es'], fileName: 'page' }
  await build({ configFile: false, logLevel: 'silent', resolve: { alias: pageAliases }, build: { lib, outDir, emptyOutDir: false } })
`

/** Runs on the page. */
const CHECK = `async () => {
  const { checkBill } = await import('/page.js')
  const module = await WebAssembly.compileStreaming(fetch('/portable.wasm'))
  const bill = await (await fetch('/example.json')).json()
  const { verdict, calls } = await checkBill(bill, module)
  const execution = calls.flatMap(({ checks }) => checks).find(({ name }) => name === 'execution').detail
  bill.answer.result[0].calls[0].gasUsed = '0x1'
  const { verdict: changed } = await checkBill(bill, module)
  return { verdict, execution, changed }
}`

function findBrowser(): string | undefined {
  try {
    return execFileSync('sh', ['-c', 'command -v chromium || command -v google-chrome'], { encoding: 'utf8' }).trim()
  } catch {
    return undefined
  }
}
