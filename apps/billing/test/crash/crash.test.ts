import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { postgresMissing, startPostgres } from '@upfront/devnet'
import { type CrashPlan, type CrashReport, runCrash } from './crash-run.js'

/** `npm run test:crash` sets it to 200; as part of `npm test` the run is shorter. */
const payments = Number(process.env.CRASH_PAYMENTS ?? 10)
const directory = mkdtempSync(join(tmpdir(), 'billing-crash-'))

type Plan = Pick<CrashPlan, 'victims' | 'faultyNode' | 'settlement'> & {
  title: string
  store: 'PGlite' | 'Postgres'
}

const oneStorePlans: Omit<Plan, 'store'>[] = [
  { title: 'billing', victims: [['billing']], faultyNode: false, settlement: 'single' },
  { title: 'billing, with a faulty node', victims: [['billing']], faultyNode: true, settlement: 'single' },
  { title: 'the seller', victims: [['seller']], faultyNode: false, settlement: 'single' },
  { title: 'billing, with a faulty node, in batches', victims: [['billing']], faultyNode: true, settlement: 'batch' },
  {
    title: 'billing and the seller, with a faulty node, in batches',
    victims: [['billing'], ['seller'], ['billing', 'seller']],
    faultyNode: true,
    settlement: 'batch',
  },
]
const plans: Plan[] = [
  ...oneStorePlans.map((plan) => ({ ...plan, store: 'PGlite' }) as const),
  ...oneStorePlans.map((plan) => ({ ...plan, store: 'Postgres' }) as const),
  { title: 'Postgres', victims: [['postgres']], faultyNode: false, settlement: 'single', store: 'Postgres' },
  {
    title: 'billing, the seller and Postgres, with a faulty node, in batches',
    victims: [['billing'], ['seller'], ['postgres'], ['postgres', 'billing', 'seller']],
    faultyNode: true,
    settlement: 'batch',
    store: 'Postgres',
  },
]
const postgresReason = postgresMissing()
/** The short run uses only the hardest plan that can run here. */
const chosen =
  process.env.CRASH_PAYMENTS === undefined
    ? [plans.findLast(({ store }) => store === 'PGlite' || postgresReason === null) as Plan]
    : plans
if (postgresReason !== null) console.warn(`tests on Postgres are skipped: ${postgresReason}`)

afterAll(() => rmSync(directory, { recursive: true, force: true }))

describe('no money is lost or taken twice', () => {
  for (const { title, store, ...plan } of chosen) {
    const test = store === 'Postgres' && postgresReason !== null ? it.skip : it
    test(`while killing ${title} (${store})`, async () => {
      const postgres = store === 'Postgres' ? await startPostgres() : null
      try {
        const report = await runCrash({
          ...plan,
          payments,
          concurrency: 8,
          pause: [300, 2_000],
          postgres,
          directory: join(directory, `${title} on ${store}`.replaceAll(/\W+/g, '-')),
        })
        describeRun(`${title} (${store})`, report)
        examine(report)
      } finally {
        await postgres?.stop()
      }
    }, 1_800_000)
  }
})

function examine(report: CrashReport): void {
  const { ledger, settlements, purchases, kills } = report
  expect(kills.billing + kills.seller + kills.postgres).toBeGreaterThan(0)
  expect(ledger.filter(({ state }) => ['authorized', 'charging', 'submitted'].includes(state))).toEqual([])
  // Each charged payment has moved exactly its charge once, and none was sent twice.
  for (const { id, nonce, state, charge } of ledger) {
    const sent = settlements.get(nonce) ?? []
    const expected = charge !== null && charge > 0n ? [{ succeeded: true, moved: charge }] : []
    expect({ id, state, sent: sent.map(({ succeeded, moved }) => ({ succeeded, moved })) }).toEqual({
      id,
      state: expected.length === 1 ? 'settled' : state,
      sent: expected,
    })
  }
  const known = new Set(ledger.map(({ nonce }) => nonce))
  expect([...settlements.keys()].filter((nonce) => !known.has(nonce))).toEqual([])
  // Each buyer that was served pays the metered amount; each that was refused pays nothing.
  expect(refusedAndCharged(report)).toEqual([])
  expect(servedUnpaid(report)).toEqual([])
  // No used authorization is served again.
  expect(report.servedAgain).toBe(0)
  // 409: a withheld answer is returned to its own request only.
  expect(report.replayed.filter((status) => status !== 402 && status !== 409)).toEqual([])
  expect(report.reconciliation.differences).toEqual([])
  expect(purchases.filter(({ status }) => status === 200).length).toBeGreaterThan(0)
}

const movedFor = ({ settlements }: CrashReport, nonce: bigint | null) =>
  nonce === null ? 0n : (settlements.get(nonce)?.[0]?.moved ?? 0n)

const refusedAndCharged = (report: CrashReport) =>
  report.purchases.filter(({ status, nonce }) => status !== null && status !== 200 && movedFor(report, nonce) > 0n)

const servedUnpaid = (report: CrashReport) =>
  report.purchases.filter(({ status, nonce, asked }) => status === 200 && movedFor(report, nonce) !== asked)

function describeRun(title: string, report: CrashReport): void {
  const { purchases, ledger, kills, settlements, servedAgain, reconciliation } = report
  const count = (values: (string | number | null)[]) =>
    [...new Set(values.map(String))]
      .map((value) => `${values.map(String).filter((other) => other === value).length} ${value}`)
      .join(', ')
  const settled = ledger.filter(({ state }) => state === 'settled')
  const moved = [...settlements.values()].flat()
  const sum = (amounts: (bigint | null)[]) => amounts.reduce<bigint>((total, amount) => total + (amount ?? 0n), 0n)
  process.stderr.write(
    `${title}: killed ${JSON.stringify(kills)}; answers ${count(purchases.map(({ status }) => status))}; ledger ` +
      `${count(ledger.map(({ scheme, state }) => `${scheme} ${state}`))}; settled ${settled.length} for ${sum(settled.map(({ charge }) => charge))}; ` +
      `transferred ${moved.filter(({ succeeded }) => succeeded).length} for ${sum(moved.map((each) => each.moved))}; ` +
      `refused and charged ${refusedAndCharged(report).length}; served again ${servedAgain}; ` +
      `served unpaid ${servedUnpaid(report).length}; differences ${JSON.stringify(reconciliation.differences?.length)}\n`,
  )
  for (const { id, state, reason, deadline, chargedAt, submittedAt, finishedAt, transaction } of ledger) {
    if (state !== 'failed') continue
    const validUntil = new Date(Number(deadline) * 1_000).toISOString()
    process.stderr.write(
      `  ${id}: ${reason}; charged ${chargedAt}, submitted ${submittedAt} as ${transaction}, valid until ${validUntil}, ended ${finishedAt}\n`,
    )
  }
}
