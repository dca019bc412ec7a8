import { spawnSync } from 'node:child_process'
import { cpSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DEVNET_ROLES, USDC_ADDRESS, usdcAbi } from '@upfront/devnet'
import { decodePaymentResponseHeader } from '@x402/core/http'
import type { PaymentRequirements } from '@x402/core/types'
import { ExactEvmScheme } from '@x402/evm/exact/client'
import { UptoEvmScheme } from '@x402/evm/upto/client'
import { wrapFetchWithPayment, x402Client } from '@x402/fetch'
import { createPublicClient, http } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { freeUrl, here, portOf, type Stand, startStand } from './stand.js'

const python = process.env.UPFRONT_PYTHON ?? 'python3'
const succeeds = (command: string, args: string[], cwd?: string) =>
  spawnSync(command, args, { cwd, stdio: 'ignore', timeout: 240_000 }).status === 0
const built = mkdtempSync(join(tmpdir(), 'stock-seller-go-'))
const goSeller = join(built, 'seller')

/** Builds the Go seller outside the repository, with x402 from `X402_CHECKOUT` if set, otherwise from Go's proxy. */
function buildsGo(): boolean {
  cpSync(here('go'), built, { recursive: true })
  const { X402_CHECKOUT } = process.env
  const replaced = `-replace=github.com/x402-foundation/x402/go=${X402_CHECKOUT}/go`
  if (X402_CHECKOUT !== undefined && !succeeds('go', ['mod', 'edit', replaced], built)) return false
  return succeeds('go', ['mod', 'tidy'], built) && succeeds('go', ['build', '-o', goSeller, '.'], built)
}

/** `missing` returns what the machine lacks to run the seller. */
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
    missing: () =>
      !buildsGo() && "go, and x402's Go module: of a checkout that X402_CHECKOUT names, where Go's proxy refuses it",
  },
]

let stand: Stand

const usdcOf = (address: `0x${string}`) =>
  createPublicClient({ transport: http(stand.devnet.rpcUrl) }).readContract({
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
  stand = await startStand({ origins: SELLER_ORIGINS })
}, 120_000)
afterAll(async () => {
  await stand.stop()
  rmSync(built, { recursive: true, force: true })
})

/** Known before billing starts: an account is made with its origins. */
const SELLER_ORIGINS = await Promise.all(SELLERS.map(freeUrl))

describe.each(SELLERS.map((seller, at) => ({ ...seller, url: SELLER_ORIGINS[at]! })))(
  'a seller with x402’s own middleware for $name',
  ({ name, command, missing, url }) => {
    const reason = missing?.() ?? false
    const test = reason === false ? it : it.skip
    if (reason !== false) console.warn(`skipped: ${name}: ${reason}`)

    test('sells by exact with both transfer methods, and by upto, with billing as its facilitator', async () => {
      const env = { NETWORK: 'eip155:31337', ASSET: USDC_ADDRESS, PAY_TO: DEVNET_ROLES.seller.address }
      await stand.start(command, { ...env, PORT: portOf(url), FACILITATOR_URL: stand.facilitatorUrl }, `${url}/none`)
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
        const listed = await (await fetch(`${stand.billing.BILLING_URL}/discovery/resources?limit=100`)).json()
        expect((listed as { items: { resource: string }[] }).items.map(({ resource }) => resource)).toContain(
          `${url}/weather`,
        )
      }
    })
  },
)
