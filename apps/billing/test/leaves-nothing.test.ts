import { startDevnet } from '@upfront/devnet'
import { runBilling } from './support/billing.js'
import { stores } from './support/stores.js'
import { until } from './support/until.js'

/** What keeps this process alive, and how often. The name of a timer does not tell whose it is: all of them count. */
function holding(): Record<string, number> {
  const counts: Record<string, number> = {}
  for (const kind of process.getActiveResourcesInfo()) counts[kind] = (counts[kind] ?? 0) + 1
  return counts
}

/** Longer than a test may take: a timer that is left behind does not end by itself. */
const FOR_EVER = { recoveryMs: '600000', reconcileMs: '3600000' }

describe.each(stores())('a billing that was closed, on $name', (store) => {
  const test = store.missing === null ? it : it.skip
  beforeAll(async () => {
    if (store.missing !== null) return console.warn(`skipped: ${store.missing}`)
    await store.start()
  })
  afterAll(() => store.stop())

  test('leaves neither timers nor connections behind', async () => {
    const devnet = await startDevnet()
    const use = async () => {
      const before = holding()
      const billing = await runBilling(devnet.rpcUrl, { ...FOR_EVER, ...(await store.variables()) })
      const { id } = await billing.authorizeNew()
      expect((await billing.charge(id, '700')).payment.state).toBe('settled')
      expect(holding().Timeout ?? 0).toBeGreaterThan(before.Timeout ?? 0)
      await billing.close()
      return () => Object.entries(holding()).filter(([kind, count]) => count > (before[kind] ?? 0))
    }
    try {
      // The first leaves what a process keeps: compiled modules, a worker of the store.
      await use()
      const left = await use()
      await until(async () => left().length === 0)
    } finally {
      await devnet.stop()
    }
  })
})
