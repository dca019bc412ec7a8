import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { DEVNET_ROLES, type Devnet, freePort, startDevnet, USDC_ADDRESS, usdcAbi } from '@upfront/devnet'
import { decodePaymentResponseHeader } from '@x402/core/http'
import type { PaymentRequirements } from '@x402/core/types'
import { ExactEvmScheme } from '@x402/evm/exact/client'
import { UptoEvmScheme } from '@x402/evm/upto/client'
import { wrapFetchWithPayment, x402Client } from '@x402/fetch'
import { createPublicClient, http } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'

const here = (path: string) => fileURLToPath(new URL(`../${path}`, import.meta.url))
const python = process.env.UPFRONT_PYTHON ?? 'python3'
const succeeds = (command: string, args: string[], cwd?: string) =>
  spawnSync(command, args, { cwd, stdio: 'ignore', timeout: 240_000 }).status === 0
const built = mkdtempSync(join(tmpdir(), 'stock-seller-go-'))
/** A binary that was built otherwise goes first, such as one of a checkout of x402. */
const goSeller = process.env.STOCK_SELLER_GO ?? join(built, 'seller')

/** Its module is resolved anew, away from the repository. */
function buildsGo(): boolean {
  if (process.env.STOCK_SELLER_GO !== undefined) return true
  cpSync(here('go'), built, { recursive: true })
  return succeeds('go', ['mod', 'tidy'], built) && succeeds('go', ['build', '-o', goSeller, '.'], built)
}

/** `missing`: what the machine lacks for it. */
const SELLERS: { name: string; command: string[]; cwd?: string; missing?: () => string | false }[] = [
  { name: 'express', command: [process.execPath, here('dist/express.js')] },
  { name: 'hono', command: [process.execPath, here('dist/hono.js')] },
  {
    name: 'FastAPI',
    command: [python, here('python/main.py')],
    missing: () =>
      !succeeds(python, ['-c', 'import fastapi, uvicorn, x402.mechanisms.evm.upto, x402.extensions.bazaar']) &&
      "pip install 'x402[fastapi,evm,extensions]' uvicorn, in the Python that UPFRONT_PYTHON names",
  },
  {
    name: 'Go',
    command: [goSeller],
    missing: () => !buildsGo() && "x402's Go module is not to be had here, or go is missing",
  },
]

let devnet: Devnet
let billingUrl: string
let token: string
const data = mkdtempSync(join(tmpdir(), 'stock-sellers-'))
const running: ChildProcess[] = []

async function start([command = '', ...args]: string[], env: Record<string, string>, isUp: string): Promise<void> {
  const child = spawn(command, args, { env: { PATH: process.env.PATH, HOME: process.env.HOME, ...env } })
  running.push(child)
  let output = ''
  child.stdout?.on('data', (text) => (output += text))
  child.stderr?.on('data', (text) => (output += text))
  for (;;) {
    const answer = await fetch(isUp).catch(() => null)
    if (answer !== null && answer.status < 500) return
    if (child.exitCode !== null) throw new Error(`${command} ended:\n${output}`)
    await Promise.race([once(child, 'exit'), new Promise((resolve) => setTimeout(resolve, 100))])
  }
}

const portOf = (url: string) => new URL(url).port
const freeUrl = async () => `http://127.0.0.1:${await freePort()}`
const usdcOf = (address: `0x${string}`) =>
  createPublicClient({ transport: http(devnet.rpcUrl) }).readContract({
    address: USDC_ADDRESS,
    abi: usdcAbi,
    functionName: 'balanceOf',
    args: [address],
  })

/** x402's own client, which takes the first offer that `isWanted`. */
function payingFetch(isWanted: (offer: PaymentRequirements) => boolean): typeof fetch {
  const account = privateKeyToAccount(DEVNET_ROLES.buyer.privateKey)
  const client = new x402Client((_, offers) => offers.find(isWanted) as PaymentRequirements)
    .register('eip155:31337', new ExactEvmScheme(account))
    .register('eip155:31337', new UptoEvmScheme(account))
    .setSpendControls({ allowedAssets: true })
  return wrapFetchWithPayment(fetch, client) as typeof fetch
}

beforeAll(async () => {
  devnet = await startDevnet()
  billingUrl = await freeUrl()
  const make = [
    'make',
    '--name',
    'stock',
    '--pay-to',
    DEVNET_ROLES.seller.address,
    '--origin',
    SELLER_ORIGINS.join(','),
  ]
  const sellers = here('../../apps/billing/dist/sellers/command.js')
  const env = { ...process.env, DATABASE_URL: '', BILLING_DATA_DIR: data }
  token = JSON.parse(execFileSync(process.execPath, [sellers, ...make], { env, encoding: 'utf8' })).token
  const tokens = { [USDC_ADDRESS]: { name: 'USDC', version: '2', decimals: 6 } }
  await start(
    [process.execPath, here('../../apps/billing/dist/main.js')],
    {
      BILLING_PORT: portOf(billingUrl),
      BILLING_TOKEN: 'service',
      BILLING_DATA_DIR: data,
      FACILITATOR_PRIVATE_KEYS: DEVNET_ROLES.facilitators[0].privateKey,
      CHAINS: JSON.stringify({ 'eip155:31337': { rpcUrl: devnet.rpcUrl, tokens } }),
      LOG_LEVEL: 'error',
    },
    `${billingUrl}/supported`,
  )
})
afterAll(async () => {
  for (const child of running) child.kill('SIGKILL')
  await devnet.stop()
  for (const folder of [data, built]) rmSync(folder, { recursive: true, force: true })
})

/** Known before billing starts: an account is made with its origins. */
const SELLER_ORIGINS = await Promise.all(SELLERS.map(freeUrl))

describe.each(SELLERS.map((seller, at) => ({ ...seller, url: SELLER_ORIGINS[at]! })))(
  'a seller by x402’s own middleware for $name',
  ({ name, command, missing, url }) => {
    const reason = missing?.() ?? false
    const test = reason === false ? it : it.skip
    if (reason !== false) console.warn(`skipped: ${name}: ${reason}`)

    test('sells at a price by both methods, and by use, with billing for its facilitator', async () => {
      const env = { NETWORK: 'eip155:31337', ASSET: USDC_ADDRESS, PAY_TO: DEVNET_ROLES.seller.address }
      await start(command, { ...env, PORT: portOf(url), FACILITATOR_URL: `${billingUrl}/s/${token}` }, `${url}/none`)
      expect((await fetch(`${url}/weather`)).status).toBe(402)
      const before = await usdcOf(DEVNET_ROLES.seller.address)
      for (const method of [undefined, 'permit2']) {
        const pay = payingFetch(({ extra }) => extra?.assetTransferMethod === method)
        const response = await pay(`${url}/weather`)
        expect([response.status, await response.json()]).toEqual([200, { celsius: 21 }])
        const receipt = decodePaymentResponseHeader(response.headers.get('payment-response') ?? '')
        expect(receipt).toMatchObject({ success: true, network: 'eip155:31337' })
      }
      expect((await usdcOf(DEVNET_ROLES.seller.address)) - before).toBe(4_000n)
      const response = await payingFetch(() => true)(`${url}/words?text=seven+words+are+charged+seven+words+each`)
      expect([response.status, await response.json()]).toEqual([200, { words: 7 }])
      expect((await usdcOf(DEVNET_ROLES.seller.address)) - before).toBe(11_000n)
      if (name !== 'Go') {
        const listed = await (await fetch(`${billingUrl}/discovery/resources?limit=100`)).json()
        expect((listed as { items: { resource: string }[] }).items.map(({ resource }) => resource)).toContain(
          `${url}/weather`,
        )
      }
    })
  },
)
