// What `npm start` runs: each service's program, its port, and the environment that joins it to the others.
import { randomBytes } from 'node:crypto'
import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { emptyLedger } from './empty-ledger.mjs'
import { root } from './install.mjs'

/** What the gateway shows to billing; a new one for each start. */
const token = process.env.BILLING_TOKEN || randomBytes(24).toString('hex')
/** For the page at /console/seller: reads billing's ledger, and nothing else. */
const readToken = process.env.BILLING_READ_TOKEN || randomBytes(24).toString('hex')
const host = (name) => process.env[name] || '127.0.0.1'
const url = (name, port) => `http://${['0.0.0.0', '::', ''].includes(host(name)) ? '127.0.0.1' : host(name)}:${port}`

/**
 * A service of the local stand.
 * @typedef {{name: string, title: string, program: string, flags?: string[], host: string,
 *   ports: {variable: string, port: number}[], url: string, problem: () => Promise<string | undefined>,
 *   environment: () => Promise<Record<string, string>>}} Service
 * `problem` resolves with why the service can't work yet, though it listens, and rejects while it doesn't listen.
 */

/** The services to start, in order; later ones need the earlier ones. @returns {Service[]} @throws an `Error` naming a bad port. */
export function chooseServices() {
  const upstream = process.env.UPSTREAM_RPC_URL
  const flashblocks = portFrom('DEVNET_FLASHBLOCKS_PORT', 8546)
  const devnet = {
    ...base('devnet', 'local chain', 'testing/devnet/dist/main.js', 'DEVNET', 8545),
    problem: answersRpc,
    environment: async () => ({ DEVNET_FLASHBLOCKS_PORT: String(flashblocks.port) }),
  }
  devnet.ports.push(flashblocks)
  const billing = {
    ...base('billing', 'billing service', built('apps/billing'), 'BILLING', 8081),
    health: '/health',
    problem: answersHealth,
    environment: async () => ({
      BILLING_TOKEN: token,
      BILLING_READ_TOKEN: readToken,
      ...(upstream ? {} : await localPayments(devnet.url)),
    }),
  }
  // On a real node payments need a funded facilitator: billing starts where one is configured.
  const sells =
    existsSync(join(root, 'apps/billing/src/main.ts')) && (!upstream || Boolean(process.env.CHAINS && hasFacilitator()))
  const gateway = {
    ...base('gateway', 'gateway', built('apps/simulator-gateway'), 'GATEWAY', 8080),
    flags: gatewayFlags(),
    health: '/health/ready',
    problem: answersHealth,
    environment: async () => ({
      UPSTREAM_RPC_URL: upstream || devnet.url,
      ...(upstream
        ? {}
        : {
            UPSTREAM_WS_URL: devnet.url.replace('http', 'ws'),
            FLASHBLOCKS_WS_URL: `ws://127.0.0.1:${flashblocks.port}`,
          }),
      ...(upstream ? {} : localDevelopment()),
      ...(!upstream && process.env.DEVNET_OPTIMISM === '1'
        ? { CHAIN_GENESIS_FILE: join(root, 'testing/devnet/op-genesis.json') }
        : {}),
      ...(sells ? await paidRoutes(billing, upstream) : {}),
    }),
  }
  const services = [...(upstream ? [] : [devnet]), ...(sells ? [billing] : []), gateway]
  const taken = new Map()
  for (const { port, variable } of services.flatMap(({ ports }) => ports)) {
    if (taken.has(port))
      throw new Error(`${taken.get(port)} and ${variable} are both ${port}: give them different ports`)
    taken.set(port, variable)
  }
  return services
}

/** What a developer beside the local chain wants: any web page may ask, scripts may ask fast, blocks follow each other as the chain's do. */
function localDevelopment() {
  const seconds = process.env.DEVNET_BLOCK_TIME_SECONDS || '2'
  return { CORS_ORIGINS: '*', LIMITS: '{"callsPerSecond": 1000}', BLOCK_TIME_SECONDS: seconds }
}

/** Of one stand: its ledger and its logs. Stands on other ports have folders of their own. */
export const dataFolder = () => join('.data', `stand-${portFrom('GATEWAY_PORT', 8080).port}`)

/** What is built of an app; with `BUNDLED` set, as `npm test` does, its bundle, which starts sooner. */
const built = (folder) => join(folder, 'dist', process.env.BUNDLED === undefined ? 'main.js' : 'bundle.js')

/** Node's own, as `npm run start:gateway` has them. */
function gatewayFlags() {
  const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  return scripts['start:gateway'].split(' ').filter((word) => word.startsWith('--'))
}

function base(name, title, program, prefix, defaultPort) {
  const own = portFrom(`${prefix}_PORT`, defaultPort)
  const hostVariable = `${prefix}_HOST`
  return { name, title, program, host: host(hostVariable), ports: [own], url: url(hostVariable, own.port) }
}

function portFrom(variable, fallback) {
  const text = process.env[variable] || String(fallback)
  const port = Number(text)
  if (!/^\d+$/.test(text) || port < 1 || port > 65_535)
    throw new Error(`${variable}: expected a port from 1 to 65535, got ${JSON.stringify(text)}`)
  return { variable, port }
}

const hasFacilitator = () => process.env.FACILITATOR_PRIVATE_KEYS || process.env.FACILITATOR_PRIVATE_KEYS_FILE

async function localPayments(rpcUrl) {
  const { DEVNET_ROLES, USDC_ADDRESS } = await import('../testing/devnet/dist/index.js')
  const tokens = { [USDC_ADDRESS]: { name: 'USDC', version: '2', decimals: 6 } }
  // The local chain begins anew at each start: a ledger of another one would have nothing to stand on.
  const ledger = join(root, dataFolder(), 'ledger')
  for (const folder of [ledger, join(root, dataFolder(), 'charges')]) rmSync(folder, { recursive: true, force: true })
  const isPlaced = process.env.DATABASE_URL || process.env.BILLING_DATA_DIR
  if (!isPlaced) cpSync(await emptyLedger(), ledger, { recursive: true })
  return {
    ...(isPlaced ? {} : { BILLING_DATA_DIR: ledger }),
    FACILITATOR_PRIVATE_KEYS: DEVNET_ROLES.facilitators.map(({ privateKey }) => privateKey).join(','),
    // Blocks come with transactions only: a second confirmation might never come.
    CHAINS: JSON.stringify({
      'eip155:31337': { rpcUrl, confirmations: 1, dailySponsoredGas: String(10n ** 17n), tokens },
    }),
  }
}

/** What the gateway needs to sell. On a real node NETWORK, ASSET and PAY_TO are the user's to set. */
async function paidRoutes(billing, upstream) {
  const journal = { CHARGE_JOURNAL_DIR: join(root, dataFolder(), 'charges') }
  const common = { BILLING_URL: billing.url, BILLING_TOKEN: token, ...journal, ...receiptKey() }
  if (upstream) return common
  const { DEVNET_ROLES, USDC_ADDRESS } = await import('../testing/devnet/dist/index.js')
  return {
    ...common,
    NETWORK: 'eip155:31337',
    ASSET: USDC_ADDRESS,
    PAY_TO: DEVNET_ROLES.seller.address,
  }
}

/** The stand's key for receipts: made at its first start, then kept, so that receipts stay good. */
function receiptKey() {
  if (process.env.RECEIPT_KEYS_FILE) return {}
  const file = join(root, dataFolder(), 'receipt-keys.json')
  if (!existsSync(file)) {
    mkdirSync(join(root, dataFolder()), { recursive: true })
    writeFileSync(file, JSON.stringify({ key: `0x${randomBytes(32).toString('hex')}`, retired: [] }), { mode: 0o600 })
  }
  return { RECEIPT_KEYS_FILE: file }
}

/** What a second app needs to sell through the local stand's billing, and to be paid; nothing on a real node. */
export async function saleDetails(services) {
  const billing = services.find(({ name }) => name === 'billing')
  if (billing === undefined || process.env.UPSTREAM_RPC_URL) return []
  const { DEVNET_ROLES, USDC_ADDRESS } = await import('../testing/devnet/dist/index.js')
  const { seller, buyer } = DEVNET_ROLES
  return [
    'Sell through this billing from another app (docs/selling.md), and pay with a funded test key:',
    '',
    `  BILLING_URL=${billing.url} BILLING_TOKEN=${token} NETWORK=eip155:31337 ASSET=${USDC_ADDRESS} PAY_TO=${seller.address}`,
    `  BUYER_PRIVATE_KEY=${buyer.privateKey}`,
    '',
    `What was earned is on the page, under Seller, with the token ${readToken}`,
    '',
  ]
}

async function answersRpc() {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'eth_chainId', params: [] })
  const headers = { 'content-type': 'application/json' }
  const { ok } = await fetch(this.url, { method: 'POST', headers, body, signal: AbortSignal.timeout(2_000) })
  return ok ? undefined : 'it does not answer'
}

async function answersHealth() {
  const response = await fetch(`${this.url}${this.health}`, { signal: AbortSignal.timeout(5_000) })
  return response.ok ? undefined : (await response.text()).slice(0, 500)
}
