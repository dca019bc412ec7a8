import { createLogger } from '@upfront/service'
import { sql } from 'drizzle-orm'
import { oneStore } from '../../test/support/stores.js'
import { type Ledger, openLedger } from './ledger.js'
import { findAnswer, keepAnswer } from './withheld-answers.js'

describe.each(oneStore())('withheld answers, on $name', (store) => {
  const test = store.missing === null ? it : it.skip
  let ledger: Ledger

  beforeAll(async () => {
    if (store.missing !== null) return console.warn(`skipped: ${store.missing}`)
    await store.start()
    const environment = { BILLING_DATA_DIR: '', ...(await store.variables()) }
    ledger = await openLedger(environment, createLogger({ level: 'silent' }))
    const address = `0x${'a5'.repeat(20)}`
    const row = {
      ...{ state: 'submitted', kind: 'upto-permit2', network: 'eip155:31337', asset: address, payer: address },
      ...{ pay_to: address, facilitator: address, maximum: 5, charge: 5, valid_after: 0, deadline: 1 },
      ...{ signature: `0x${'11'.repeat(65)}`, authorized_block: 0, settlement_gas: 0 },
      ...{ created_at: '2026-01-01T00:00:00Z', updated_at: '2026-01-01T00:00:00Z' },
    }
    await ledger.db.transaction(async (tx) => {
      await tx.execute(sql`insert into payments overriding user value
        select (jsonb_populate_record(null::payments, ${JSON.stringify(row)}::jsonb || jsonb_build_object('id', 'pay_' || n, 'nonce', n))).*
        from generate_series(0, 5000) as n`)
      await tx.execute(sql`insert into payment_events (payment_id, at, kind, to_state, data)
        select id, created_at, 'submitted', state, '{}'::jsonb from payments`)
    })
  })
  afterAll(async () => {
    await ledger?.onApplicationShutdown()
    await store.stop()
  })

  test('are limited to 5,000, and an existing one can still be replaced', async () => {
    const until = new Date(Date.now() + 60_000)
    await ledger.db.execute(sql`insert into withheld_answers (payment_id, answer, kept_until)
      select 'pay_' || n, 'old', ${until.toISOString()}::timestamptz from generate_series(1, 4999) as n`)
    expect(await keepAnswer(ledger.db, 'pay_0', 'first', until)).toBe(true)
    expect(await keepAnswer(ledger.db, 'pay_5000', 'one more', until)).toBe(false)
    expect(await keepAnswer(ledger.db, 'pay_0', 'second', until)).toBe(true)
    expect(await findAnswer(ledger.db, 'pay_0')).toBe('second')
    expect(await findAnswer(ledger.db, 'pay_5000')).toBeNull()
  })
})
