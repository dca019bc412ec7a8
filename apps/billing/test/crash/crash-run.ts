import { mkdir, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import {
  builtProgram,
  DEVNET_ROLES,
  type Devnet,
  type FaultProxy,
  freePort,
  type NodeFault,
  type Postgres,
  ServiceProcess,
  startDevnet,
  startFaultProxy,
  USDC_ADDRESS,
} from '@upfront/devnet'
import { decodePayment, isFinal, type Payment } from '@upfront/protocol'
import type { PaymentRequirements } from '@x402/core/types'
import { ExactEvmScheme } from '@x402/evm/exact/client'
import { UptoEvmScheme } from '@x402/evm/upto/client'
import { wrapFetchWithPayment, x402Client } from '@x402/fetch'
import { createTestClient, http } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { BillingClient, billingVariables, TOKEN } from '../support/billing.js'
import { fetchHead } from '../support/on-chain.js'
import { type OnChainSettlement, readSettlements } from './chain-record.js'

export type VictimName = 'billing' | 'seller' | 'postgres'

export interface CrashPlan {
  /** Payments to serve, however many attempts that takes. */
  payments: number
  concurrency: number
  /** Processes to kill; those of one entry are killed at the same moment. */
  victims: VictimName[][]
  /** Milliseconds between two kills, at least and at most. */
  pause: [number, number]
  /** Whether answers are late, lost or refused, receipts lag behind state, and reorgs replace the newest blocks. */
  faultyNode: boolean
  settlement: 'single' | 'batch'
  /** A Postgres for this plan only; `null`: the ledger is PGlite. */
  postgres: Postgres | null
  /** For PGlite's folder and the seller's journal. */
  directory: string
}

/** One paid request as its buyer saw it. */
export interface Purchase {
  /** `null`: the connection broke before an answer. */
  status: number | null
  /** The payment header, and the nonce in it; `null`: the buyer never got an offer. */
  header: string | null
  nonce: bigint | null
  asked: bigint
}

export interface CrashReport {
  purchases: Purchase[]
  ledger: Payment[]
  settlements: Map<bigint, OnChainSettlement[]>
  reconciliation: { differences?: unknown[] }
  kills: Record<VictimName, number>
  /** Handler runs caused by replaying every used header. */
  servedAgain: number
  /** HTTP statuses of the replays. */
  replayed: (number | null)[]
}

interface Killable {
  kill(): Promise<void>
  start(): Promise<void>
}

/** Ways to pay, which buyers use in turn. */
const WAYS = [
  { scheme: 'upto', method: 'permit2' },
  { scheme: 'exact', method: 'eip3009' },
  { scheme: 'upto', method: 'permit2' },
  { scheme: 'exact', method: 'permit2' },
] as const
type Way = (typeof WAYS)[number]
/** The seller's price for `exact`, smallest unit. */
const PRICE = 20_000n

/** Seconds. */
const BLOCK_TIME = 1

/** Longer than an authorization is valid: every charge is final by then. */
const MAX_MS = 400_000

const random = (least: number, most: number) => least + Math.floor(Math.random() * (most - least + 1))

/** Buys from the metered seller while processes are killed, waits until all payments are final, and reports ledger and chain. */
export async function runCrash(plan: CrashPlan): Promise<CrashReport> {
  await mkdir(plan.directory, { recursive: true })
  const devnet = await startDevnet({ blockTimeSeconds: BLOCK_TIME })
  const node = await startFaultProxy(devnet.rpcUrl)
  const { postgres, directory } = plan
  const store = postgres === null ? { BILLING_DATA_DIR: join(directory, 'ledger') } : { DATABASE_URL: postgres.url }
  const billing = await makeBilling(node.url, { ...store, SETTLEMENT: plan.settlement })
  const journal = join(directory, 'journal')
  const seller = await makeSeller(billing.url, journal)
  try {
    await billing.start()
    await seller.start()
    if (plan.faultyNode) node.faultOf = (method) => chooseFault(node, method)
    const killing = new AbortController()
    const disturbing = plan.faultyNode ? disturb(devnet, node, killing.signal) : Promise.resolve()
    const purchases: Purchase[] = []
    const kills = { billing: 0, seller: 0, postgres: 0 }
    const victims = { billing, seller, ...(postgres === null ? {} : { postgres }) }
    const stop = () => killing.abort()
    await Promise.all([
      buy(plan, seller.url, purchases, kills, killing.signal).finally(stop),
      kill(plan, victims, kills, killing.signal, () => countServed(purchases)).finally(stop),
      disturbing,
    ])
    node.faultOf = undefined
    const client = new BillingClient(billing.url)
    // Wait until what the last reorg dropped is settled again: `finish` moves the chain past every deadline.
    await until(async () => (await reconcile(client)).differences?.length === 0, 180_000)
    const ledger = await finish(devnet, client, kills.seller === 0, journal)
    const { servedAgain, replayed } = await replay(seller.url, purchases, new Set(ledger.map(({ nonce }) => nonce)))
    return {
      purchases,
      ledger,
      settlements: await readSettlements(devnet.rpcUrl),
      reconciliation: await reconcile(client),
      kills,
      servedAgain,
      replayed,
    }
  } finally {
    await seller.kill()
    await billing.kill()
    await node.stop()
    await devnet.stop()
  }
}

async function makeBilling(rpcUrl: string, store: NodeJS.ProcessEnv): Promise<ServiceProcess> {
  const port = await freePort()
  const variables = billingVariables(rpcUrl, {
    ...store,
    BILLING_PORT: String(port),
    recoveryMs: '500',
    reconcileMs: '1000',
    nodeTimeoutMs: '1000',
    LOG_LEVEL: process.env.TEST_LOG_LEVEL ?? 'error',
  })
  return new ServiceProcess(`http://127.0.0.1:${port}`, builtProgram('apps/billing'), '/supported', variables)
}

async function makeSeller(billingUrl: string, journal: string): Promise<ServiceProcess> {
  const port = await freePort()
  return new ServiceProcess(`http://127.0.0.1:${port}`, builtProgram('examples/metered-seller'), '/runs', {
    PORT: String(port),
    NETWORK: 'eip155:31337',
    ASSET: USDC_ADDRESS,
    PAY_TO: DEVNET_ROLES.seller.address,
    BILLING_URL: billingUrl,
    BILLING_TOKEN: TOKEN,
    JOURNAL_DIR: journal,
  })
}

function chooseFault(node: FaultProxy, method: string): NodeFault | undefined {
  const dice = Math.random()
  if (method === 'eth_sendRawTransaction' && dice < 0.3) return 'reset-after'
  if (dice < 0.04) return 'http-429'
  if (dice < 0.07) return 'reset'
  if (dice >= 0.12) return undefined
  node.slowMs = random(100, 1_500)
  return 'slow'
}

/** Alternates between lagging receipts and reorgs of the newest blocks. */
async function disturb(devnet: Devnet, node: FaultProxy, signal: AbortSignal): Promise<void> {
  const test = createTestClient({ mode: 'anvil', transport: http(devnet.rpcUrl) })
  const pause = (least: number, most: number) =>
    sleep(random(least, most), undefined, { signal }).catch(() => undefined)
  while (!signal.aborted) {
    await pause(1_000, 4_000)
    node.indexedUpTo = (await fetchHead(devnet)) - BigInt(random(0, 3))
    await pause(1_000, 3_000)
    node.indexedUpTo = undefined
    await pause(1_000, 4_000)
    if (signal.aborted) continue
    // Anvil loses a block for good if one is mined during a reorg: stop interval mining, and let a running one finish.
    await test.setIntervalMining({ interval: 0 })
    await test.mine({ blocks: 1 })
    await test.request({ method: 'anvil_reorg', params: [random(1, 2), []] } as never)
    await test.setIntervalMining({ interval: BLOCK_TIME })
  }
  node.indexedUpTo = undefined
}

const countServed = (purchases: readonly Purchase[]) => purchases.filter(({ status }) => status === 200).length

/** Kills processes in turn. Some payments are served between two kills, however slow the machine is. */
async function kill(
  plan: CrashPlan,
  running: Partial<Record<VictimName, Killable>>,
  kills: Record<VictimName, number>,
  signal: AbortSignal,
  served: () => number,
): Promise<void> {
  while (!signal.aborted) {
    // Each start takes seconds: a long run must not consist of starts only.
    const enough = served() + random(1, Math.max(5, plan.payments / 20))
    await sleep(random(...plan.pause), undefined, { signal }).catch(() => undefined)
    await until(async () => signal.aborted || served() >= enough, 120_000)
    if (signal.aborted) return
    const names = plan.victims[random(0, plan.victims.length - 1)] ?? []
    for (const name of names) kills[name] += 1
    await Promise.all(names.map((name) => running[name]?.kill()))
    // In the plan's order, so that each process finds those it needs.
    for (const name of names) await running[name]?.start()
  }
}

async function buy(
  plan: CrashPlan,
  sellerUrl: string,
  purchases: Purchase[],
  kills: Readonly<Record<VictimName, number>>,
  signal: AbortSignal,
): Promise<void> {
  let asked = 0
  /** Does not count a 503: a service is starting. */
  const countTried = () => purchases.filter(({ status }) => status !== 503).length
  const buyer = async () => {
    while (!signal.aborted && countServed(purchases) < plan.payments && countTried() < plan.payments * 50) {
      const index = asked++
      const way = WAYS[index % WAYS.length] as Way
      const metered = index % 3 === 0 ? 0n : BigInt(1_000 + index)
      const charge = way.scheme === 'upto' ? metered : PRICE
      const url = `${sellerUrl}/metered?charge=${metered}&slowMs=${random(0, 400)}`
      const bought = await purchase(url, way, charge, kills)
      purchases.push(bought)
      if (bought.status !== 200) await sleep(700)
    }
  }
  await Promise.all(Array.from({ length: plan.concurrency }, buyer))
}

/**
 * One paid request of an unmodified x402 buyer. A buyer without an answer, or asked to retry, does not pay again. One whose answer is
 * withheld polls for it; a seller that was killed in the meantime has lost it, which counts as no answer.
 */
async function purchase(
  url: string,
  way: Way,
  asked: bigint,
  kills: Readonly<Record<VictimName, number>>,
): Promise<Purchase> {
  let header: string | null = null
  const account = privateKeyToAccount(DEVNET_ROLES.buyer.privateKey)
  const client = new x402Client((_, accepts) => accepts.find((offer) => isOf(offer, way)) ?? accepts[0]!)
    .register('eip155:31337', new UptoEvmScheme(account))
    .register('eip155:31337', new ExactEvmScheme(account))
    .setSpendControls({ allowedAssets: [{ network: 'eip155:31337', asset: USDC_ADDRESS }] })
  const watched: typeof fetch = async (input, init) => {
    const request = new Request(input, init)
    header = request.headers.get('payment-signature') ?? header
    return fetch(request)
  }
  const told = async (response: Response) => {
    await response.text()
    return { status: response.status, isWithheld: response.headers.has('retry-after') && response.status === 402 }
  }
  const nothing = () => ({ status: null, isWithheld: false })
  const killedBefore = kills.seller
  let answer: { status: number | null; isWithheld: boolean } = await wrapFetchWithPayment(
    watched,
    client,
  )(url).then(told, nothing)
  while (answer.isWithheld && header !== null) {
    await sleep(500)
    answer = await fetch(url, { headers: { 'payment-signature': header } }).then(told, nothing)
    if (answer.status === 402 && kills.seller > killedBefore) answer = nothing()
  }
  return { status: answer.status, header, nonce: nonceOf(header), asked }
}

function isOf({ scheme, extra }: PaymentRequirements, way: Way): boolean {
  return scheme === way.scheme && (scheme === 'upto' || (extra.assetTransferMethod ?? 'eip3009') === way.method)
}

function nonceOf(header: string | null): bigint | null {
  if (header === null) return null
  const { payload } = JSON.parse(Buffer.from(header, 'base64').toString('utf8'))
  return BigInt((payload.permit2Authorization ?? payload.authorization).nonce)
}

/**
 * Waits for charges to settle, then moves the chain past every deadline so that uncharged authorizations expire. A seller
 * repeats charges that billing has not acknowledged, at most ten seconds apart; one that was never killed also releases the rest.
 */
async function finish(
  devnet: Devnet,
  client: BillingClient,
  sellerLives: boolean,
  journal: string,
): Promise<Payment[]> {
  const none = async (...states: Payment['state'][]) =>
    (await readLedger(client)).every(({ state }) => !states.includes(state))
  await until(async () => (await readdir(journal)).every((name) => !name.endsWith('.json')), MAX_MS)
  await until(() => none('charging', 'submitted'), MAX_MS)
  if (sellerLives) await until(() => none('authorized', 'charging', 'submitted'))
  const test = createTestClient({ mode: 'anvil', transport: http(devnet.rpcUrl) })
  await test.increaseTime({ seconds: 3_600 })
  await test.mine({ blocks: 1 })
  // Check one snapshot: the adapter may still repeat an authorization and release it at once.
  let ledger: Payment[] = []
  await until(async () => {
    ledger = await readLedger(client)
    return ledger.every(({ state }) => isFinal(state))
  })
  return ledger
}

async function until(isDone: () => Promise<boolean>, milliseconds = 60_000): Promise<void> {
  for (const end = Date.now() + milliseconds; Date.now() < end; await sleep(200)) if (await isDone()) return
}

/** All differences between ledger and chain; `undefined` if the node does not answer. */
async function reconcile(client: BillingClient): Promise<{ differences?: unknown[] }> {
  return (await client.send('/reconciliation')).body as { differences?: unknown[] }
}

async function readLedger(client: BillingClient): Promise<Payment[]> {
  const payments: Payment[] = []
  for (let cursor: string | null = ''; cursor !== null; ) {
    const { body } = await client.send(`/payments?limit=500${cursor === '' ? '' : `&cursor=${cursor}`}`)
    const page = body as { payments: unknown[]; nextCursor: string | null }
    payments.push(...page.payments.map((payment) => decodePayment(payment)))
    cursor = page.nextCursor
  }
  return payments
}

/** Replays used authorizations only: one that got nothing but 503 can still be used. */
async function replay(sellerUrl: string, purchases: Purchase[], used: ReadonlySet<bigint>) {
  const runs = async () => ((await (await fetch(`${sellerUrl}/runs`)).json()) as { runs: number }).runs
  const before = await runs()
  const replayed: (number | null)[] = []
  for (const { header, nonce } of purchases) {
    if (header === null || nonce === null || !used.has(nonce)) continue
    replayed.push(await offerAgain(sellerUrl, header))
  }
  return { servedAgain: (await runs()) - before, replayed }
}

/** Retries after a 503, as a buyer would: on a busy machine the node may take longer than billing waits. */
async function offerAgain(sellerUrl: string, header: string): Promise<number> {
  for (let attempt = 1; ; attempt += 1) {
    const { status } = await fetch(`${sellerUrl}/metered?charge=0`, { headers: { 'payment-signature': header } })
    if (status !== 503 || attempt === 5) return status
    await sleep(1_000)
  }
}
