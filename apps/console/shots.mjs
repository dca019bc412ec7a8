// `npm run console:shots`: starts a local stand of its own, and writes a picture of each view to docs.
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { fileURLToPath } from 'node:url'
import { chromium } from 'playwright-core'

const root = fileURLToPath(new URL('../..', import.meta.url))
const TOKEN = 'for-the-pictures'
const DESK = { width: 1280, height: 860 }
const PHONE = { width: 390, height: 844 }
const SOMEBODY = '0xb0b0000000000000000000000000000000000001'

/** What is done on a page before its picture is taken. */
const SHOTS = [
  {
    file: 'console',
    path: '',
    viewport: DESK,
    colorScheme: 'light',
    prepare: (page) => example(page, 'A swap', /receive/),
  },
  {
    file: 'console-phone',
    ...{ path: '', viewport: PHONE, colorScheme: 'dark' },
    prepare: (page) => example(page, 'A swap that fails', /^Allow/),
  },
  {
    file: 'console-warning',
    ...{ path: '', viewport: DESK, colorScheme: 'dark' },
    prepare: (page) => example(page, 'A delegation (EIP-7702)', /^Hands an account over/),
  },
  {
    file: 'console-live',
    ...{ path: 'live', viewport: DESK, colorScheme: 'light' },
    async prepare(page) {
      await page.getByRole('row').nth(10).waitFor()
      purchase()
      await page.getByRole('row').nth(50).waitFor()
    },
  },
  {
    file: 'console-pay',
    ...{ path: 'pay', viewport: DESK, colorScheme: 'light' },
    async prepare(page) {
      await page.getByLabel(/^To/).fill(SOMEBODY)
      await page.getByRole('button', { name: 'Ask for the price' }).click()
      await page.getByRole('button', { name: /test key$/ }).click()
      await page.getByText(/in block \d+$/).waitFor()
    },
  },
  {
    file: 'console-check',
    ...{ path: 'check', viewport: DESK, colorScheme: 'light' },
    async prepare(page) {
      await page.locator('input[type=file]').setInputFiles(`${root}packages/receipt/example.json`)
      await page.getByText('The bill is right').waitFor()
    },
  },
  {
    file: 'console-seller',
    ...{ path: 'seller', viewport: DESK, colorScheme: 'light' },
    async prepare(page) {
      await page.getByLabel(/^Billing’s read token/).fill(TOKEN)
      await page.getByRole('button', { name: 'Open the ledger' }).click()
      await page.getByLabel(/^Price of 1 ETH/).fill('3000')
      await page.getByText(/^Gas took/).waitFor()
    },
  },
]

async function example(page, name, shows) {
  await page.getByRole('button', { name, exact: true }).click()
  const result = page.getByRole('region', { name: 'Result' })
  await result.getByText(shows).first().waitFor()
  await result.getByText('The same on latest.').waitFor()
}

async function freePort() {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address()
  server.close()
  await once(server, 'close')
  return String(port)
}

const ports = {}
for (const name of ['GATEWAY_PORT', 'BILLING_PORT', 'DEVNET_PORT', 'DEVNET_FLASHBLOCKS_PORT'])
  ports[name] = await freePort()
const env = { ...process.env, ...ports, BILLING_READ_TOKEN: TOKEN }
const stand = spawn(process.execPath, ['scripts/start.mjs'], { cwd: root, env, stdio: ['ignore', 'pipe', 'inherit'] })
const ended = once(stand, 'exit')
/** Something happens on the chain, and the seller earns. */
const purchase = () =>
  execFileSync(process.execPath, ['examples/paying-buyer/dist/main.js'], { cwd: root, env, stdio: 'ignore' })
let browser
try {
  await new Promise((resolve, reject) => {
    stand.stdout.on('data', (text) => String(text).includes('Ready after') && resolve())
    ended.then(() => reject(new Error('the local stand did not start')))
  })
  for (let count = 0; count < 2; count++) purchase()
  const executablePath = execFileSync('sh', ['-c', 'command -v chromium || command -v google-chrome']).toString().trim()
  browser = await chromium.launch({ executablePath })
  for (const { file, path, viewport, colorScheme, prepare } of SHOTS) {
    const page = await browser.newPage({ viewport, colorScheme })
    await page.goto(`http://127.0.0.1:${ports.GATEWAY_PORT}/console/${path}`)
    await page.locator('.chain').getByText(/^#\d+/).waitFor()
    await prepare(page)
    await page.screenshot({ path: `${root}docs/${file}.png` })
    console.log(`docs/${file}.png`)
    await page.close()
  }
} finally {
  await browser?.close()
  stand.kill('SIGINT')
  await ended.catch(() => {})
}
