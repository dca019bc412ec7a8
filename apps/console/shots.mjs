// `npm run console:shots`: starts a local stand, and takes screenshots of each view in four looks (desktop and phone, light and dark) in
// apps/console/shots, which is not committed; those shown in documents are copied to docs.
//   npm run console:shots -- pay seller     only these
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { copyFileSync, mkdirSync } from 'node:fs'
import { createServer } from 'node:net'
import { fileURLToPath } from 'node:url'
import { chromium } from 'playwright-core'

const root = fileURLToPath(new URL('../..', import.meta.url))
const folder = fileURLToPath(new URL('shots', import.meta.url))
const TOKEN = 'for-the-pictures'
const DESK = { width: 1280, height: 860 }
const PHONE = { width: 390, height: 844 }
const LOOKS = {
  'desk-light': { viewport: DESK, colorScheme: 'light' },
  'desk-dark': { viewport: DESK, colorScheme: 'dark' },
  'phone-light': { viewport: PHONE, colorScheme: 'light' },
  'phone-dark': { viewport: PHONE, colorScheme: 'dark' },
}
const SOMEBODY = '0xb0b0000000000000000000000000000000000001'

/**
 * The actions on a page before its screenshot. `docs`: the look that is copied to docs, and its
 * name there. `isWhole`: the whole page instead of the first screen.
 */
const SHOTS = [
  { name: 'start', path: '', prepare: (page) => page.getByRole('button', { name: 'A swap', exact: true }).waitFor() },
  {
    name: 'swap',
    ...{ path: '', docs: ['desk-light', 'console'] },
    prepare: (page) => example(page, 'A swap', /receive/),
  },
  {
    name: 'details',
    ...{ path: '', isWhole: true },
    async prepare(page) {
      await example(page, 'A swap', /receive/)
      for (const title of [/^Call tree$/, /^State changes/, /^Gas/, /logs$/])
        await result(page).locator('.more > summary').filter({ hasText: title }).click()
    },
  },
  { name: 'two-calls', path: '', isWhole: true, prepare: (page) => example(page, 'Approve and swap', /receive/) },
  {
    name: 'failure',
    ...{ path: '', docs: ['phone-dark', 'console-phone'] },
    prepare: (page) => example(page, 'A swap that fails', /^Allow/),
  },
  { name: 'too-little-gas', path: '', prepare: (page) => example(page, 'Too little gas', /^Give it/) },
  {
    name: 'delegation',
    ...{ path: '', docs: ['desk-dark', 'console-warning'] },
    prepare: (page) => example(page, 'A delegation (EIP-7702)', /^Hands an account over/),
  },
  {
    name: 'allowance',
    path: '',
    prepare: (page) => example(page, 'An unlimited allowance', /^An unlimited allowance: /),
  },
  { name: 'lying-token', path: '', prepare: (page) => example(page, 'A lying token', /^A token’s logs/) },
  {
    name: 'refused-paste',
    path: '',
    async prepare(page) {
      await page.getByLabel(/^Paste anything/).fill('0xb00b')
      await page.getByRole('alert').first().waitFor()
    },
  },
  {
    name: 'live',
    ...{ path: 'live', docs: ['desk-light', 'console-live'] },
    async prepare(page) {
      await page.getByRole('row').nth(10).waitFor()
      purchase()
      await page.getByRole('row').nth(50).waitFor()
    },
  },
  {
    name: 'price',
    path: 'pay',
    async prepare(page) {
      await page.getByLabel(/^To/).fill(SOMEBODY)
      await page.getByRole('button', { name: 'Ask for the price' }).click()
      await page.getByRole('button', { name: /test key$/ }).waitFor()
    },
  },
  {
    name: 'pay',
    ...{ path: 'pay', docs: ['desk-light', 'console-pay'] },
    async prepare(page) {
      await page.getByLabel(/^To/).fill(SOMEBODY)
      await page.getByRole('button', { name: 'Ask for the price' }).click()
      await page.getByRole('button', { name: /test key$/ }).click()
      await page.getByText(/in block \d+$/).waitFor()
    },
  },
  {
    name: 'check',
    ...{ path: 'check', docs: ['desk-light', 'console-check'] },
    async prepare(page) {
      await page.locator('input[type=file]').setInputFiles(`${root}packages/receipt/example.json`)
      await page.getByText('The bill is right').waitFor()
    },
  },
  {
    name: 'seller',
    ...{ path: 'seller', docs: ['desk-light', 'console-seller'] },
    prepare: openLedger,
  },
  {
    name: 'payment',
    path: 'seller',
    async prepare(page) {
      await openLedger(page)
      await page.getByRole('button', { name: /…$/ }).first().click()
      await page.getByRole('dialog').getByText('Transactions signed for it').waitFor()
    },
  },
]

const result = (page) => page.getByRole('region', { name: 'Result' })

async function example(page, name, shows) {
  await page.getByRole('button', { name, exact: true }).click()
  await result(page).getByText(shows).first().waitFor()
  await result(page).getByText('The same on latest.').waitFor()
}

async function openLedger(page) {
  await page.getByLabel(/^Billing’s read token/).fill(TOKEN)
  await page.getByRole('button', { name: 'Open the ledger' }).click()
  await page.getByLabel(/^Price of 1 ETH/).fill('3000')
  await page.getByText(/^Gas took/).waitFor()
}

async function freePort() {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address()
  server.close()
  await once(server, 'close')
  return String(port)
}

const names = process.argv.slice(2)
const unknown = names.filter((name) => !SHOTS.some((shot) => shot.name === name))
if (unknown.length > 0) throw new Error(`no picture is called ${unknown}: ${SHOTS.map(({ name }) => name).join(', ')}`)
const shots = names.length === 0 ? SHOTS : SHOTS.filter(({ name }) => names.includes(name))
const ports = {}
for (const name of ['GATEWAY_PORT', 'BILLING_PORT', 'DEVNET_PORT', 'DEVNET_FLASHBLOCKS_PORT'])
  ports[name] = await freePort()
const env = { ...process.env, ...ports, BILLING_READ_TOKEN: TOKEN }
const stand = spawn(process.execPath, ['scripts/start.mjs'], { cwd: root, env, stdio: ['ignore', 'pipe', 'inherit'] })
const ended = once(stand, 'exit')
/** Makes something happen on the chain, and the seller earn. */
const purchase = () =>
  execFileSync(process.execPath, ['examples/paying-buyer/dist/main.js'], { cwd: root, env, stdio: 'ignore' })
let browser
try {
  await new Promise((resolve, reject) => {
    stand.stdout.on('data', (text) => String(text).includes('Ready after') && resolve())
    ended.then(() => reject(new Error('the local stand did not start')))
  })
  // The first blocks have a base fee of 1 gwei. Lowered, so that gas costs the seller as much as on a rollup.
  await fetch(`http://127.0.0.1:${ports.DEVNET_PORT}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'anvil_mine', params: ['0x40'] }),
  })
  for (let count = 0; count < 2; count++) purchase()
  mkdirSync(folder, { recursive: true })
  const executablePath = execFileSync('sh', ['-c', 'command -v chromium || command -v google-chrome']).toString().trim()
  browser = await chromium.launch({ executablePath })
  for (const { name, path, docs: [shown, inDocs] = [], isWhole = false, prepare } of shots) {
    for (const [look, options] of Object.entries(LOOKS)) {
      const page = await browser.newPage(options)
      await page.goto(`http://127.0.0.1:${ports.GATEWAY_PORT}/console/${path}`)
      await page.locator('.chain').getByText(/^#\d+/).waitFor()
      await prepare(page)
      const file = `${folder}/${name}.${look}.png`
      if (isWhole) {
        // The viewport gets the page's height, because sticky elements are positioned at its edges.
        const height = await page.evaluate('document.documentElement.scrollHeight')
        await page.setViewportSize({ ...options.viewport, height })
        await page.evaluate('scrollTo(0, 0)')
      }
      await page.screenshot({ path: file })
      if (look === shown) copyFileSync(file, `${root}docs/${inDocs}.png`)
      await page.close()
    }
    console.log(`${name}${inDocs ? `, docs/${inDocs}.png` : ''}`)
  }
} finally {
  await browser?.close()
  stand.kill('SIGINT')
  await ended.catch(() => {})
}
