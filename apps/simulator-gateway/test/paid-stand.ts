import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  builtProgram,
  type Devnet,
  emptyLedger,
  freePort,
  type LedgerStore,
  ledgerStores,
  startDevnet,
  usdcAbi,
} from '@upfront/devnet'
import { x402Client } from '@x402/core/client'
import { UptoEvmScheme } from '@x402/evm/upto/client'
import { wrapFetchWithPayment } from '@x402/fetch'
import { type Address, createPublicClient, http } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { type GatewayProcess, startGateway, startGatewayProcess, type Variables } from './gateway-process.js'

const NETWORK = 'eip155:31337'
const TOKEN = 'a-service-token'
const READ_TOKEN = 'a-read-token'

export interface PaidStand {
  devnet: Devnet
  gateway: GatewayProcess
  billingUrl: string
  /** Billing's service token. */
  token: string
  /** Billing's read token, which opens only the seller's view. */
  readToken: string
  /** Another gateway that sells through the same billing, with other settings. */
  startGateway(environment: Variables): Promise<GatewayProcess>
  /** x402's own buyer, unmodified. */
  pay: typeof fetch
  /** The last PAYMENT-SIGNATURE sent. */
  payment(): string
  usdcOf(account: Address): Promise<bigint>
  stop(): Promise<void>
}

/** Writes a file for `RECEIPT_KEYS_FILE` with this key. */
export function receiptKeysFile(key: string): string {
  const folder = mkdtempSync(join(tmpdir(), 'receipt-keys-'))
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }))
  const file = join(folder, 'keys.json')
  writeFileSync(file, JSON.stringify({ key }))
  return file
}

/**
 * The local chain, billing, and a gateway that sells on it; `environment` is the gateway's. The ledger is in Postgres if there is one,
 * which takes two CPU-seconds less than PGlite; apps/billing tests the differences.
 */
export async function startPaidStand(
  environment: Variables | ((rpcUrl: string) => Variables) = {},
  billingEnvironment: Record<string, string> = {},
): Promise<PaidStand> {
  const store = ledgerStores().findLast(({ missing }) => missing === null) as LedgerStore
  await store.start()
  const devnet = await startDevnet()
  const { accounts, contracts, rpcUrl } = devnet
  const directory = await mkdtemp(join(tmpdir(), 'paid-gateway-'))
  const port = await freePort()
  const tokens = { [contracts.usdc]: { name: 'USDC', version: '2', decimals: 6 } }
  const billing = spawn(process.execPath, [builtProgram('apps/billing')], {
    env: {
      PATH: process.env.PATH,
      BILLING_PORT: String(port),
      BILLING_TOKEN: TOKEN,
      BILLING_READ_TOKEN: READ_TOKEN,
      ...(store.name === 'PGlite' && { BILLING_DATA_DIR: emptyLedger(directory) }),
      ...(await store.variables()),
      FACILITATOR_PRIVATE_KEYS: accounts.facilitators[0].privateKey,
      CHAINS: JSON.stringify({
        [NETWORK]: { rpcUrl, confirmations: 1, dailySponsoredGas: '100000000000000000', tokens },
      }),
      LOG_LEVEL: 'warn',
      ...billingEnvironment,
    },
    stdio: 'ignore',
  })
  const url = `http://127.0.0.1:${port}`
  const answers = () =>
    fetch(`${url}/health`).then(
      ({ ok }) => ok,
      () => false,
    )
  while (!(await answers())) {
    if (billing.exitCode !== null) throw new Error(`billing ended with ${billing.exitCode}`)
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  // Spans belong to a whole process.
  const start = 'OTEL_EXPORTER_OTLP_ENDPOINT' in environment ? startGatewayProcess : startGateway
  const startSeller = (settings: Variables) =>
    start({
      UPSTREAM_RPC_URL: rpcUrl,
      LOG_LEVEL: 'warn',
      BILLING_URL: url,
      BILLING_TOKEN: TOKEN,
      NETWORK,
      ASSET: contracts.usdc,
      PAY_TO: accounts.seller.address,
      ...settings,
    })
  const gateway = await startSeller(typeof environment === 'function' ? environment(rpcUrl) : environment)
  const client = new x402Client()
    .register(NETWORK, new UptoEvmScheme(privateKeyToAccount(accounts.buyer.privateKey)))
    .setSpendControls({ allowedAssets: true })
  let payment = ''
  const send = (input: string | URL | Request, init?: RequestInit) => {
    const request = new Request(input, init)
    payment = request.headers.get('payment-signature') ?? payment
    return fetch(request)
  }
  const chain = createPublicClient({ transport: http(rpcUrl) })
  return {
    devnet,
    gateway,
    billingUrl: url,
    token: TOKEN,
    readToken: READ_TOKEN,
    startGateway: startSeller,
    pay: wrapFetchWithPayment(send as typeof fetch, client) as typeof fetch,
    payment: () => payment,
    usdcOf: (account) =>
      chain.readContract({ address: contracts.usdc, abi: usdcAbi, functionName: 'balanceOf', args: [account] }),
    async stop() {
      await gateway.stop()
      const closed = once(billing, 'close')
      billing.kill('SIGKILL')
      await closed
      await devnet.stop()
      await store.stop()
      await rm(directory, { recursive: true, force: true })
    },
  }
}
