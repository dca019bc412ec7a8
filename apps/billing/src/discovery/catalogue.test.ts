import type { Requirements } from '@upfront/protocol'
import { createLogger } from '@upfront/service'
import { declareDiscoveryExtension } from '@x402/extensions/bazaar'
import { stores } from '../../test/support/stores.js'
import { openLedger } from '../ledger/ledger.js'
import { makeSeller } from '../sellers/seller-accounts.js'
import { Catalogue } from './catalogue.js'

const ORIGIN = 'https://api.example.com'
const { bazaar } = declareDiscoveryExtension({
  method: 'GET',
  input: { city: 'Basel' },
  inputSchema: { properties: { city: { type: 'string' } }, required: ['city'] },
} as never)
const offer: Requirements = {
  ...{ scheme: 'exact', network: 'eip155:1', asset: '0xa5', payTo: '0x5e' },
  ...{ amount: 7n, maxTimeoutSeconds: 60, extra: {} },
}
const [, postgres] = stores() as [unknown, ReturnType<typeof stores>[number]]
const test = postgres.missing === null ? it : it.skip

beforeAll(() => (postgres.missing === null ? postgres.start() : console.warn(`skipped: ${postgres.missing}`)))
afterAll(() => postgres.stop())

test('lists a resource for only one of two sellers that offer it concurrently', async () => {
  const logger = createLogger({ level: 'silent' })
  const ledger = await openLedger({ BILLING_DATA_DIR: '', ...(await postgres.variables()) }, logger)
  try {
    const terms = { recipients: [], minimum: 0n, perMinute: 1, dailyGas: null, origins: [ORIGIN] }
    const sellers = await Promise.all(['bakery', 'brewery'].map((name) => makeSeller(ledger.db, { ...terms, name })))
    const catalogue = new Catalogue(ledger, logger)
    for (let round = 0; round < 10; round += 1) {
      const payload = { resource: { url: `${ORIGIN}/${round}` }, extensions: { bazaar } }
      const listings = await Promise.all(
        sellers.map(({ account }) => catalogue.note(payload, offer, { seller: account.id, route: null })),
      )
      expect(listings.map((listing) => listing?.status).sort()).toEqual(['rejected', 'success'])
    }
  } finally {
    await ledger.onApplicationShutdown()
  }
})
