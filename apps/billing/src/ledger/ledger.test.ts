import { createLogger } from '@upfront/service'
import { sql } from 'drizzle-orm'
import { Pool } from 'pg'
import { stores } from '../../test/support/stores.js'
import { openLedger } from './ledger.js'

describe.each(stores())('the ledger on $name', (store) => {
  const test = store.missing === null ? it : it.skip

  beforeAll(async () => {
    if (store.missing !== null) return console.warn(`skipped: ${store.missing}`)
    await store.start()
  })
  afterAll(() => store.stop())

  test('runs at read committed, whatever the default isolation level of the database is', async () => {
    const where = await store.variables()
    if (where.DATABASE_URL !== undefined) await makeSerializable(where.DATABASE_URL)
    const ledger = await openLedger({ BILLING_DATA_DIR: '', ...where }, createLogger({ level: 'silent' }))
    const level = await ledger.db.transaction(async (tx) => {
      const [found] = await tx
        .select({ level: sql<string>`current_setting('transaction_isolation')` })
        .from(sql`(select) as one`)
      return found?.level
    })
    await ledger.onApplicationShutdown()
    expect(level).toBe('read committed')
  })
})

/** Sets a default that an operator may have chosen for other programs. */
async function makeSerializable(url: string): Promise<void> {
  const pool = new Pool({ connectionString: url })
  await pool.query(`do $$ begin
    execute format('alter database %I set default_transaction_isolation = serializable', current_database());
  end $$`)
  await pool.end()
}
