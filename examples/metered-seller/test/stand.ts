import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type Devnet, startDevnet } from '@upfront/devnet'

export const NETWORK = 'eip155:31337'
const TOKEN = 'a-service-token'
const program = (path: string) => fileURLToPath(new URL(`../../../${path}/dist/main.js`, import.meta.url))

/** A service in a process of its own, as a deployment runs it. */
export interface Service {
  url: string
  output(): string
  kill(signal?: NodeJS.Signals): Promise<void>
  /** Again, with the same environment and on the same port. */
  restart(): Promise<void>
}

async function startService(
  main: string,
  port: number,
  path: string,
  environment: Record<string, string>,
): Promise<Service> {
  const url = `http://127.0.0.1:${port}`
  let child: ChildProcess
  let output = ''
  const start = async () => {
    child = spawn(process.execPath, [main], { env: { PATH: process.env.PATH, ...environment } })
    child.stdout?.on('data', (data) => (output += data))
    child.stderr?.on('data', (data) => (output += data))
    for (const deadline = Date.now() + 90_000; ; ) {
      const answered = await fetch(url + path).then(
        (response) => response.ok,
        () => false,
      )
      if (answered) return
      if (child.exitCode !== null || Date.now() > deadline) {
        child.kill('SIGKILL')
        throw new Error(`${main} did not start:\n${output}`)
      }
      await new Promise((resolve) => setTimeout(resolve, 50))
    }
  }
  await start()
  return {
    url,
    output: () => output,
    async kill(signal = 'SIGKILL') {
      if (child.exitCode !== null || child.signalCode !== null) return
      const closed = once(child, 'close')
      child.kill(signal)
      await closed
    },
    restart: start,
  }
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as { port: number }
  server.close()
  await once(server, 'close')
  return port
}

export interface Stand {
  devnet: Devnet
  billing: Service
  seller: Service
  /** How often the seller's handler ran. */
  runs(): Promise<number>
  /** What billing's ledger holds, newest first. */
  payments(): Promise<{ state: string; charge: string | null; maximum: string; transaction: string | null }[]>
  stop(): Promise<void>
}

/** The local chain, billing (PGlite) and the metered seller, as three processes. */
export async function startStand({
  billingUrl = (url: string) => url,
}: {
  billingUrl?: (url: string) => string | Promise<string>
} = {}): Promise<Stand> {
  const devnet = await startDevnet()
  const { accounts, contracts } = devnet
  const directory = await mkdtemp(join(tmpdir(), 'metered-seller-'))
  const billingPort = await freePort()
  const tokens = { [contracts.usdc]: { name: 'USDC', version: '2', decimals: 6 } }
  const billing = await startService(program('apps/billing'), billingPort, '/health', {
    BILLING_PORT: String(billingPort),
    BILLING_TOKEN: TOKEN,
    BILLING_DATA_DIR: directory,
    FACILITATOR_PRIVATE_KEYS: accounts.facilitators[0]!.privateKey,
    CHAINS: JSON.stringify({ [NETWORK]: { rpcUrl: devnet.rpcUrl, confirmations: 1, tokens } }),
    LOG_LEVEL: 'warn',
  })
  const sellerPort = await freePort()
  const seller = await startService(program('examples/metered-seller'), sellerPort, '/runs', {
    PORT: String(sellerPort),
    NETWORK,
    ASSET: contracts.usdc,
    PAY_TO: accounts.seller.address,
    BILLING_URL: await billingUrl(billing.url),
    BILLING_TOKEN: TOKEN,
  })
  return {
    devnet,
    billing,
    seller,
    async runs() {
      return ((await (await fetch(`${seller.url}/runs`)).json()) as { runs: number }).runs
    },
    async payments() {
      const headers = { authorization: `Bearer ${TOKEN}` }
      const answer = await fetch(`${billing.url}/payments`, { headers })
      return ((await answer.json()) as { payments: Awaited<ReturnType<Stand['payments']>> }).payments
    },
    async stop() {
      await Promise.all([seller.kill(), billing.kill()])
      await devnet.stop()
      await rm(directory, { recursive: true, force: true })
    },
  }
}
