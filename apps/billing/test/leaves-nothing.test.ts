import { startDevnet } from '@upfront/devnet'
import { runBilling } from './support/billing.js'
import { stores } from './support/stores.js'
import { until } from './support/until.js'

/** Active resources of this process by type. A timer does not tell who set it, so all of them count. */
function holding(): Record<string, number> {
  const counts: Record<string, number> = {}
  for (const kind of process.getActiveResourcesInfo()) counts[kind] = (counts[kind] ?? 0) + 1
  return counts
}

/** Longer than a test may take: a leaked timer does not end on its own. */
const FOR_EVER = { recoveryMs: '600000', reconcileMs: '3600000' }

describe.each(stores())('a closed billing, on $name', (store) => {
  const test = store.missing === null ? it : it.skip
  beforeAll(async () => {
    if (store.missing !== null) return console.warn(`skipped: ${store.missing}`)
    await store.start()
  })
  afterAll(() => store.stop())

  test('leaves no timers and no connections behind', async () => {
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
      // The first run leaves what a process keeps: compiled modules, a worker of the store.
      await use()
      const left = await use()
      await until(async () => left().length === 0)
    } finally {
      await devnet.stop()
    }
  })
})
