import { createLogger } from '@upfront/service'
import { sql } from 'drizzle-orm'
import { stores } from '../../test/support/stores.js'
import { openLedger } from '../ledger/ledger.js'
import { paymentEvents } from '../ledger/schema.js'
import { makeSeller } from './seller-accounts.js'
import { lockSeller } from './seller-gas.js'

const AT = '2026-01-01T00:00:00Z'
const [, postgres] = stores() as [unknown, ReturnType<typeof stores>[number]]
const test = postgres.missing === null ? it : it.skip

beforeAll(() => (postgres.missing === null ? postgres.start() : console.warn(`skipped: ${postgres.missing}`)))
afterAll(() => postgres.stop())

test('lockSeller serializes concurrent charges of one seller by different payers without a failure', async () => {
  const ledger = await openLedger(
    { BILLING_DATA_DIR: '', ...(await postgres.variables()) },
    createLogger({ level: 'silent' }),
  )
  try {
    const terms = { name: 'bakery', recipients: [], minimum: 0n, perMinute: 1, dailyGas: 1n }
    const { account } = await makeSeller(ledger.db, terms)
    let written = 0
    const charge = (id: string) =>
      ledger.db.transaction(async (tx) => {
        const row = {
          ...{ id, seller: account.id, state: 'charging', kind: 'upto-permit2', network: 'eip155:1', asset: '0xa5' },
          ...{ payer: id, pay_to: '0x5e', facilitator: '0xfa', nonce: 1, maximum: 5, charge: 5, valid_after: 0 },
          ...{ deadline: 1, signature: '0x', authorized_block: 0, settlement_gas: 0, created_at: AT, updated_at: AT },
        }
        const payment = sql`jsonb_populate_record(null::payments, ${JSON.stringify(row)}::jsonb)`
        await tx.execute(sql`insert into payments overriding user value select (${payment}).*`)
        const event = { paymentId: id, at: new Date(AT), kind: 'charged', toState: 'charging', data: {} } as const
        await tx.insert(paymentEvents).values(event)
        written += 1
        while (written < 2) await new Promise((resolve) => setTimeout(resolve, 5))
        await lockSeller(tx, account.id)
        return id
      })
    expect(await Promise.all(['pay_1', 'pay_2'].map(charge))).toEqual(['pay_1', 'pay_2'])
  } finally {
    await ledger.onApplicationShutdown()
  }
})
