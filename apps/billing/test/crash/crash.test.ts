import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { stores } from '../support/stores.js'
import { type CrashPlan, type CrashReport, runCrash } from './crash-run.js'

/** `npm run test:crash` sets it to 200; as part of `npm test` the run is shorter. */
const payments = Number(process.env.CRASH_PAYMENTS ?? 10)
const FAULTY = 'billing is killed and the node fails'
const BATCHED = 'billing is killed and the node fails, in batches'
const HARDEST = 'both are killed and the node fails, in batches'
const directory = mkdtempSync(join(tmpdir(), 'billing-crash-'))

type Plan = Omit<CrashPlan, 'store'> & { title: string }

const plans = [
  { title: 'billing is killed', victims: ['billing'], faultyNode: false, settlement: 'single' },
  { title: FAULTY, victims: ['billing'], faultyNode: true, settlement: 'single' },
  { title: 'the seller is killed', victims: ['seller'], faultyNode: false, settlement: 'single' },
  { title: BATCHED, victims: ['billing'], faultyNode: true, settlement: 'batch' },
  { title: HARDEST, victims: ['billing', 'seller', 'both'], faultyNode: true, settlement: 'batch' },
].map((plan) => ({ ...plan, payments, concurrency: 8, pause: [300, 2_000] }) as Plan)

/** In the short run, each store has one of the harder plans. */
const isChosen = (store: string, title: string) =>
  process.env.CRASH_PAYMENTS !== undefined || title === (store === 'PGlite' ? FAULTY : HARDEST)

afterAll(() => rmSync(directory, { recursive: true, force: true }))

describe.each(stores())('while processes are killed, on $name', (store) => {
  const test = store.missing === null ? it : it.skip

  beforeAll(async () => {
    if (store.missing !== null) return console.warn(`skipped: ${store.missing}`)
    await store.start()
  }, 60_000)
  afterAll(() => store.stop())

  test.each(plans.filter(({ title }) => isChosen(store.name, title)))(
    'no money is lost or taken twice: $title',
    async (plan) => {
      const dataDirectory = join(directory, plan.title.replaceAll(' ', '-'))
      const report = await runCrash({
        ...plan,
        store: { BILLING_DATA_DIR: dataDirectory, ...(await store.variables()) },
      })
      describeRun(`${plan.title} (${store.name})`, report)
      const { ledger, settlements, purchases } = report

      expect(report.kills.billing + report.kills.seller).toBeGreaterThan(0)
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
      // Whoever was served pays what was metered, and whoever was refused pays nothing.
      const served = purchases.filter(({ status }) => status === 200)
      const refused = purchases.filter(({ status }) => status !== null && status !== 200)
      const movedFor = (nonce: bigint | null) => (nonce === null ? 0n : (settlements.get(nonce)?.[0]?.moved ?? 0n))
      expect(refused.filter(({ nonce }) => movedFor(nonce) > 0n)).toEqual([])
      if (!plan.victims.some((victim) => victim !== 'billing')) {
        expect(served.filter(({ nonce, asked }) => movedFor(nonce) !== asked)).toEqual([])
      }
      // No used authorization is served again.
      expect(report.servedAgain).toBe(0)
      expect(new Set(report.replayed)).toEqual(new Set([402]))
      expect(report.reconciliation.differences).toEqual([])
      expect(served.length).toBeGreaterThan(0)
    },
    600_000,
  )
})

function describeRun(title: string, { purchases, ledger, kills, settlements }: CrashReport): void {
  const count = (values: (string | number | null)[]) =>
    [...new Set(values.map(String))]
      .map((value) => `${values.map(String).filter((other) => other === value).length} ${value}`)
      .join(', ')
  process.stderr.write(
    `${title}: killed billing ${kills.billing}, seller ${kills.seller}; answers ${count(purchases.map(({ status }) => status))}; ` +
      `ledger ${count(ledger.map(({ state }) => state))}; ${settlements.size} settled on chain\n`,
  )
}
