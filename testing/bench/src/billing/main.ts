import { cpus } from 'node:os'
import { parseArgs } from 'node:util'
import {
  DEVNET_ACCOUNTS,
  DEVNET_ROLES,
  type DevnetAccount,
  postgresMissing,
  startDevnet,
  startPostgres,
  USDC_ADDRESS,
} from '@upfront/devnet'
import type { PaymentPayload } from '@x402/core/types'
import { UptoEvmScheme } from '@x402/evm/upto/client'
import { createPublicClient, http } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { cpuMilliseconds } from '../servers/process-usage.js'
import { formatNumber, formatTable } from '../table.js'
import { type Contestant, startBilling, startReference } from './contestants.js'

const { values: options } = parseArgs({
  options: {
    payments: { type: 'string', default: '200' },
    concurrency: { type: 'string', default: '10' },
    rounds: { type: 'string', default: '3' },
    only: { type: 'string', default: 'reference,pglite,postgres,batched' },
    profile: { type: 'string' },
    help: { type: 'boolean', default: false },
  },
})
if (options.help) {
  console.log(
    `npm run bench:billing -- [--payments 200] [--concurrency 10] [--rounds 3] [--only ${options.only}] [--profile FOLDER]\nPayments verified and settled per second, compared with the reference facilitator.`,
  )
  process.exit(0)
}
const payments = Number(options.payments)
const concurrency = Number(options.concurrency)
const only = options.only.split(',')
const MAXIMUM = '1000'
const CHARGE = '300'

interface Figures {
  perSecond: number
  /** CPU milliseconds per payment, of the process alone (without a Postgres server). */
  cpu: number
  failed: number
  /** Gas of the facilitator's transactions per payment. */
  gas: number
  /** Payments per settlement transaction. */
  size: number
}

const devnet = await startDevnet()
const client = createPublicClient({ transport: http(devnet.rpcUrl), cacheTime: 0 })
const missing = postgresMissing()
const postgres = missing === null ? await startPostgres() : null
if (missing !== null) console.log(`no row for Postgres: ${missing}`)
const contestants: Contestant[] = []
const results = new Map<Contestant, { verify: Figures; settle: Figures }[]>()
try {
  const [first, second, third] = DEVNET_ROLES.facilitators
  const fourth = DEVNET_ACCOUNTS[9] ?? third
  const { profile } = options
  const billing = (name: string, facilitator: DevnetAccount, database: string | null, settings = {}) =>
    startBilling(name, devnet.rpcUrl, facilitator, database, settings, profile)
  if (only.includes('reference')) contestants.push(await startReference(devnet.rpcUrl, first))
  if (only.includes('pglite')) contestants.push(await billing('billing on PGlite', second, null))
  if (postgres !== null && only.includes('postgres'))
    contestants.push(await billing('billing on Postgres', third, postgres.url))
  if (postgres !== null && only.includes('batched')) {
    const settings = { SETTLEMENT: 'batch', LIMITS: '{"batchIntervalMs": 200}' }
    contestants.push(
      await billing('billing on Postgres, batched', fourth, postgres.createDatabase('batched'), settings),
    )
  }
  for (const contestant of contestants) await measureRound(contestant, Math.min(payments, 40))
  for (let round = 0; round < Number(options.rounds); round++) {
    for (const contestant of contestants) {
      const known = results.get(contestant) ?? []
      results.set(contestant, [...known, await measureRound(contestant, payments)])
    }
  }
  report()
} finally {
  for (const contestant of contestants) await contestant.stop()
  await postgres?.stop()
  await devnet.stop()
}

async function measureRound(contestant: Contestant, count: number) {
  const payloads = await Promise.all(Array.from({ length: count }, () => sign(contestant.facilitator.address)))
  const verified: string[] = []
  const verify = await measure(contestant, payloads, async (payload, index) => {
    verified[index] = await contestant.verify(payload)
  })
  const settle = await measure(contestant, payloads, (payload, index) =>
    contestant.settle(payload, verified[index] ?? '', CHARGE),
  )
  return { verify, settle }
}

async function measure(
  contestant: Contestant,
  payloads: readonly PaymentPayload[],
  act: (payload: PaymentPayload, index: number) => Promise<void>,
): Promise<Figures> {
  const cpuBefore = cpuMilliseconds(contestant.pid)
  const blockBefore = await client.getBlockNumber()
  const began = performance.now()
  let next = 0
  let failed = 0
  const worker = async () => {
    while (next < payloads.length) {
      const index = next++
      await act(payloads[index] as PaymentPayload, index).catch((error: unknown) => {
        if (!contestant.mayFail) throw error
        failed += 1
      })
    }
  }
  await Promise.all(Array.from({ length: concurrency }, worker))
  const seconds = (performance.now() - began) / 1_000
  const cpu = (cpuMilliseconds(contestant.pid) - cpuBefore) / payloads.length
  const { gas, transactions } = await readGas(contestant.facilitator.address, blockBefore)
  const size = (payloads.length - failed) / Math.max(transactions, 1)
  return { perSecond: (payloads.length - failed) / seconds, cpu, failed, gas: gas / payloads.length, size }
}

/** Gas and number of an account's transactions after `block`. */
async function readGas(address: string, block: bigint): Promise<{ gas: number; transactions: number }> {
  let gas = 0n
  let transactions = 0
  for (let number = block + 1n; number <= (await client.getBlockNumber()); number += 1n) {
    const receipts = await client.request<{ ReturnType: { from: string; gasUsed: string }[] }>({
      method: 'eth_getBlockReceipts',
      params: [`0x${number.toString(16)}`],
    })
    const own = receipts.filter(({ from }) => from.toLowerCase() === address.toLowerCase())
    transactions += own.length
    gas += own.reduce((sum, { gasUsed }) => sum + BigInt(gasUsed), 0n)
  }
  return { gas: Number(gas), transactions }
}

/** A day to the deadline, because anvil's clock advances by a second per block. */
async function sign(facilitatorAddress: string): Promise<PaymentPayload> {
  const accepted = {
    scheme: 'upto',
    network: 'eip155:31337' as const,
    amount: MAXIMUM,
    asset: USDC_ADDRESS,
    payTo: DEVNET_ROLES.seller.address,
    maxTimeoutSeconds: 86_400,
    extra: { name: 'USDC', version: '2', assetTransferMethod: 'permit2', facilitatorAddress },
  }
  const scheme = new UptoEvmScheme(privateKeyToAccount(DEVNET_ROLES.buyer.privateKey))
  return { ...(await scheme.createPaymentPayload(2, accepted)), accepted } as PaymentPayload
}

function report(): void {
  const median = (values: number[]) => values.sort((a, b) => a - b)[Math.floor(values.length / 2)]
  const rows = [...results].map(([{ name }, rounds]) => [
    name,
    ...(['verify', 'settle'] as const).flatMap((step) => [
      formatNumber(median(rounds.map((round) => round[step].perSecond))),
      formatNumber(median(rounds.map((round) => round[step].cpu))),
    ]),
    formatNumber(median(rounds.map(({ settle }) => settle.gas))),
    formatNumber(median(rounds.map(({ settle }) => settle.size))),
    formatNumber(rounds.reduce((total, { verify, settle }) => total + verify.failed + settle.failed, 0)),
  ])
  console.log(
    `${cpus().length} × ${cpus()[0]?.model}, Node ${process.versions.node}; ${payments} payments, ${concurrency} at a time, median of ${options.rounds} rounds, anvil mines each transaction immediately\n`,
  )
  const head = ['', 'verify(+reserve)/s', 'CPU ms', 'settle/s', 'CPU ms', 'gas', 'in a transaction', 'failed']
  console.log(formatTable(head, rows))
}
