// The services of `npm start`: their programs, their ports, and the environment that connects them.
import { randomBytes } from 'node:crypto'
import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { emptyLedger } from './empty-ledger.mjs'
import { root } from './install.mjs'

/** The gateway's token for billing; new for each start. */
const token = process.env.BILLING_TOKEN || randomBytes(24).toString('hex')
/** Read-only token for billing's ledger, for the page at /console/seller. */
const readToken = process.env.BILLING_READ_TOKEN || randomBytes(24).toString('hex')
const host = (name) => process.env[name] || '127.0.0.1'
const url = (name, port) => `http://${['0.0.0.0', '::', ''].includes(host(name)) ? '127.0.0.1' : host(name)}:${port}`

/**
 * A service of the local stand.
 * @typedef {{name: string, title: string, program: string, flags?: string[], host: string,
 *   ports: {variable: string, port: number}[], url: string, problem: () => Promise<string | undefined>,
 *   environment: () => Promise<Record<string, string>>}} Service
 * `problem` resolves with the reason why a listening service can't work yet, and rejects if it is not listening.
 */

/** The services to start, in order; later ones need earlier ones. @returns {Service[]} @throws Error that names an invalid port */
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
  // On a real node, payments need a funded facilitator, so billing only starts if one is configured.
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

/** Settings for development on the local chain: CORS for all origins, high limits for scripts, and the chain's block time. */
function localDevelopment() {
  const seconds = process.env.DEVNET_BLOCK_TIME_SECONDS || '2'
  return { CORS_ORIGINS: '*', LIMITS: '{"callsPerSecond": 1000}', BLOCK_TIME_SECONDS: seconds }
}

/** Folder for the ledger and the logs of one stand. Stands on other ports have their own folders. */
export const dataFolder = () => join('.data', `stand-${portFrom('GATEWAY_PORT', 8080).port}`)

/** The built program of an app. With `BUNDLED` set, as in `npm test`, its bundle, which starts faster. */
const built = (folder) => join(folder, 'dist', process.env.BUNDLED === undefined ? 'main.js' : 'bundle.js')

/** Node.js flags of `npm run start:gateway`. */
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
  // The local chain restarts from genesis each time, so a ledger of an earlier chain would not match.
  const ledger = join(root, dataFolder(), 'ledger')
  for (const folder of [ledger, join(root, dataFolder(), 'charges')]) rmSync(folder, { recursive: true, force: true })
  const isPlaced = process.env.DATABASE_URL || process.env.BILLING_DATA_DIR
  if (!isPlaced) cpSync(await emptyLedger(), ledger, { recursive: true })
  return {
    ...(isPlaced ? {} : { BILLING_DATA_DIR: ledger }),
    FACILITATOR_PRIVATE_KEYS: DEVNET_ROLES.facilitators.map(({ privateKey }) => privateKey).join(','),
    // Blocks are only made for transactions, so a second confirmation might never come.
    CHAINS: JSON.stringify({
      'eip155:31337': { rpcUrl, confirmations: 1, dailySponsoredGas: String(10n ** 17n), tokens },
    }),
  }
}

/** Settings for selling. On a real node the user sets NETWORK, ASSET and PAY_TO. */
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

/** The stand's key for receipts. Created at the first start and kept, so that receipts stay valid. */
function receiptKey() {
  if (process.env.RECEIPT_KEYS_FILE) return {}
  const file = join(root, dataFolder(), 'receipt-keys.json')
  if (!existsSync(file)) {
    mkdirSync(join(root, dataFolder()), { recursive: true })
    writeFileSync(file, JSON.stringify({ key: `0x${randomBytes(32).toString('hex')}`, retired: [] }), { mode: 0o600 })
  }
  return { RECEIPT_KEYS_FILE: file }
}

/** Settings with which another app can sell through the local stand's billing; empty on a real node. */
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
    `The console shows earnings under Seller, with the token ${readToken}`,
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
