import { randomUUID } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type DevnetAccount, USDC_ADDRESS } from '@upfront/devnet'
import type { PaymentPayload } from '@x402/core/types'
import { type Server, startServer } from '../servers/server.js'

const BILLING = fileURLToPath(new URL('../../../../apps/billing/dist/main.js', import.meta.url))
const REFERENCE = fileURLToPath(new URL('./reference-facilitator.js', import.meta.url))
const TOKEN = 'bench'

/** A facilitator under test: two steps, each through its own HTTP API. */
export interface Contestant {
  name: string
  facilitator: DevnetAccount
  pid: number
  /** Whether to count failed settlements; otherwise they end the benchmark. */
  mayFail: boolean
  /** @returns the input of `settle` @throws if the payment is refused */
  verify(payload: PaymentPayload): Promise<string>
  /** @param amount smallest unit @throws unless it is settled */
  settle(payload: PaymentPayload, verified: string, amount: string): Promise<void>
  stop(): Promise<void>
}

/** Billing: verifies and reserves, then charges and waits for the receipt. */
export async function startBilling(
  name: string,
  rpcUrl: string,
  facilitator: DevnetAccount,
  databaseUrl: string | null,
  settings: Record<string, string>,
  profile: string | undefined,
): Promise<Contestant> {
  const directory = mkdtempSync(join(tmpdir(), 'bench-billing-'))
  const tokens = { [USDC_ADDRESS]: { name: 'USDC', version: '2', decimals: 6 } }
  const profiling = profile === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${profile}`]
  const server = await startServer(name, process.execPath, [...profiling, BILLING], /"url":"(http:[^"]+)"/, {
    BILLING_PORT: '0',
    BILLING_TOKEN: TOKEN,
    FACILITATOR_PRIVATE_KEYS: facilitator.privateKey,
    CHAINS: JSON.stringify({ 'eip155:31337': { rpcUrl, tokens, dailyGasBudget: '100000000000000000000' } }),
    BILLING_DATA_DIR: join(directory, 'ledger'),
    DATABASE_URL: databaseUrl ?? '',
    LOG_LEVEL: 'info',
    ...settings,
  })
  const call = (path: string, body: unknown) =>
    post(server, path, body, { authorization: `Bearer ${TOKEN}`, 'idempotency-key': randomUUID() })
  return {
    name,
    facilitator,
    pid: server.pid,
    mayFail: false,
    verify: async (paymentPayload) => {
      const answer = await call('/internal/payments', { paymentPayload, paymentRequirements: paymentPayload.accepted })
      if (answer.outcome !== 'authorized') throw new Error(`${name}: ${JSON.stringify(answer)}`)
      return (answer.payment as { id: string }).id
    },
    settle: async (_, id, amount) => {
      const { payment } = await call(`/internal/payments/${id}/charge`, { amount })
      if ((payment as { state: string }).state !== 'settled') throw new Error(`${name}: ${JSON.stringify(payment)}`)
    },
    stop: async () => {
      await server.stop()
      rmSync(directory, { recursive: true, force: true })
    },
  }
}

/** @x402's own facilitator: verifies without reserving, then settles. */
export async function startReference(rpcUrl: string, facilitator: DevnetAccount): Promise<Contestant> {
  const server = await startServer('x402', process.execPath, [REFERENCE], /(http:\/\/127\.0\.0\.1:\d+)/, {
    RPC_URL: rpcUrl,
    FACILITATOR_PRIVATE_KEY: facilitator.privateKey,
  })
  const call = (path: string, paymentPayload: PaymentPayload, amount: string) =>
    post(server, path, { x402Version: 2, paymentPayload, paymentRequirements: { ...paymentPayload.accepted, amount } })
  return {
    name: 'reference facilitator',
    facilitator,
    pid: server.pid,
    // Even with viem's nonce manager it sometimes reuses a nonce.
    mayFail: true,
    verify: async (payload) => {
      const answer = await call('/verify', payload, payload.accepted.amount)
      if (answer.isValid !== true) throw new Error(`reference: ${JSON.stringify(answer)}`)
      return ''
    },
    settle: async (payload, _, amount) => {
      const answer = await call('/settle', payload, amount)
      if (answer.success !== true) throw new Error(`reference: ${JSON.stringify(answer)}`)
    },
    stop: () => server.stop(),
  }
}

async function post(
  server: Server,
  path: string,
  body: unknown,
  headers: Record<string, string> = {},
): Promise<Record<string, unknown>> {
  const response = await fetch(`${server.url}${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  })
  if (response.status !== 200) throw new Error(`${server.name}: ${response.status} ${await response.text()}`)
  return (await response.json()) as Record<string, unknown>
}
