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
  ServiceProcess,
  startDevnet,
} from '@upfront/devnet'

export const NETWORK = 'eip155:31337'
const TOKEN = 'a-service-token'

/**
 * Stores for billing's ledger in these tests: Postgres if installed. With `ALL_STORES` set, every store: their differences are
 * tested in apps/billing.
 */
export function stores(): LedgerStore[] {
  const all = ledgerStores()
  if (process.env.ALL_STORES) return all
  return [all.findLast(({ missing }) => missing === null) as LedgerStore]
}

export interface StandOptions {
  /** Returns the URL that the first seller uses for the first billing, such as that of a proxy. */
  billingUrl?: (url: string) => string | Promise<string>
  /** Returns the URL that billing uses for the node, such as that of a proxy. */
  nodeUrl?: (url: string) => string | Promise<string>
  /** Confirmations until billing counts a payment as settled; 1 by default. */
  confirmations?: number
  /** Signers of each billing process, as indexes of the local chain's facilitators; by default one process with one signer. */
  signers?: number[][]
  /** Number of sellers; each has its own billing process if there are enough. */
  sellers?: number
  /** Additional settings of the last seller. */
  lastSeller?: Record<string, string>
}

export interface Stand {
  devnet: Devnet
  /** The first, usually the only one. */
  billing: ServiceProcess
  seller: ServiceProcess
  billings: ServiceProcess[]
  sellers: ServiceProcess[]
  /** Handler runs of all sellers. */
  runs(): Promise<number>
  /** The payments in billing's ledger, newest first. */
  payments(): Promise<{ state: string; charge: string | null; maximum: string; transaction: string | null }[]>
  stop(): Promise<void>
}

/** Starts the local chain, billing on the store, and the metered seller, each in its own process. */
export async function startStand(
  store: LedgerStore,
  {
    billingUrl = (url) => url,
    nodeUrl = (url) => url,
    confirmations = 1,
    signers = [[0]],
    sellers: count = 1,
    lastSeller,
  }: StandOptions = {},
): Promise<Stand> {
  await store.start()
  const devnet = await startDevnet()
  const { accounts, contracts } = devnet
  const directory = await mkdtemp(join(tmpdir(), 'metered-seller-'))
  const tokens = { [contracts.usdc]: { name: 'USDC', version: '2', decimals: 6 } }
  const ledger = store.name === 'PGlite' ? { BILLING_DATA_DIR: emptyLedger(directory) } : await store.variables()
  const rpcUrl = await nodeUrl(devnet.rpcUrl)
  const billings: ServiceProcess[] = []
  for (const keys of signers) {
    const port = await freePort()
    const service = new ServiceProcess(`http://127.0.0.1:${port}`, builtProgram('apps/billing'), '/health', {
      BILLING_PORT: String(port),
      BILLING_TOKEN: TOKEN,
      ...ledger,
      FACILITATOR_PRIVATE_KEYS: keys.map((key) => accounts.facilitators[key]?.privateKey).join(','),
      CHAINS: JSON.stringify({ [NETWORK]: { rpcUrl, confirmations, tokens } }),
      LIMITS: JSON.stringify({ recoveryMs: 500, nodeTimeoutMs: 1_000 }),
      LOG_LEVEL: 'warn',
    })
    await service.start()
    billings.push(service)
  }
  const [billing] = billings as [ServiceProcess]
  const sellers: ServiceProcess[] = []
  for (let index = 0; index < count; index++) {
    const port = await freePort()
    const service = new ServiceProcess(`http://127.0.0.1:${port}`, builtProgram('examples/metered-seller'), '/runs', {
      PORT: String(port),
      NETWORK,
      ASSET: contracts.usdc,
      PAY_TO: accounts.seller.address,
      BILLING_URL: index === 0 ? await billingUrl(billing.url) : (billings[index] ?? billing).url,
      BILLING_TOKEN: TOKEN,
      JOURNAL_DIR: join(directory, `charges-${index}`),
      ...(index === count - 1 ? lastSeller : {}),
    })
    await service.start()
    sellers.push(service)
  }
  return {
    devnet,
    billing,
    seller: sellers[0] as ServiceProcess,
    billings,
    sellers,
    async runs() {
      const counts = sellers.map(
        async ({ url }) => ((await (await fetch(`${url}/runs`)).json()) as { runs: number }).runs,
      )
      return (await Promise.all(counts)).reduce((sum, runs) => sum + runs, 0)
    },
    async payments() {
      const headers = { authorization: `Bearer ${TOKEN}` }
      const answer = await fetch(`${billing.url}/payments`, { headers })
      if (!answer.ok) throw new Error(`GET /payments: ${answer.status} ${await answer.text()}`)
      return ((await answer.json()) as { payments: Awaited<ReturnType<Stand['payments']>> }).payments
    },
    async stop() {
      await Promise.all([...sellers, ...billings].map((service) => service.kill()))
      await devnet.stop()
      await store.stop()
      await rm(directory, { recursive: true, force: true })
    },
  }
}
