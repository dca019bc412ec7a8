import { readdirSync } from 'node:fs'
import { PAYMENT_STATES, PAYMENT_TRANSITIONS } from '@upfront/protocol'
import { createLogger } from '@upfront/service'
import { sql } from 'drizzle-orm'
import { type Ledger, openLedger } from '../src/ledger/ledger.js'
import { oneStore } from './support/stores.js'

const FOLDER = new URL('../migrations/functions/', import.meta.url)
const files = readdirSync(FOLDER).filter((name) => name.endsWith('.sql'))

describe('the SQL functions of the ledger', () => {
  let ledger: Ledger

  beforeAll(async () => {
    const [store] = oneStore()
    const variables = (await store?.variables()) as { BILLING_DATA_DIR: string }
    ledger = await openLedger(variables, createLogger({ level: 'silent' }))
  })
  afterAll(() => ledger.onApplicationShutdown())

  it('are all kept as files', async () => {
    const ours = sql`pg_proc where pronamespace = 'public'::regnamespace`
    const found = await ledger.db.select({ name: sql<string>`proname` }).from(ours)
    expect(found.map(({ name }) => `${name}.sql`).sort()).toEqual(files.sort())
  })

  it.each(PAYMENT_STATES)('allow the same transitions from %s as PAYMENT_TRANSITIONS', async (from) => {
    const allowed: string[] = []
    for (const to of PAYMENT_STATES.filter((state) => state !== from)) {
      if (await isAllowed(ledger, from, to)) allowed.push(to)
    }
    expect(allowed.sort()).toEqual([...(PAYMENT_TRANSITIONS[from] ?? [])].sort())
  })

  it('offset sponsored gas by payments to others, but not by payments to oneself', async () => {
    expect(await sponsoredOf(ledger, '0xb')).toBe(300)
    expect(await sponsoredOf(ledger, '0xa')).toBe(1_000)
  })
})

/** Inserts a payment with these columns, and defaults for the others. */
function insert(more: Record<string, string | number | null>) {
  const row = {
    ...{
      id: 'pay_1',
      kind: 'upto-permit2',
      network: 'eip155:1',
      asset: '0x',
      payer: '0x',
      pay_to: '0x',
    },
    ...{ facilitator: '0x', nonce: 1, maximum: 1, valid_after: 0, deadline: 1, signature: '0x' },
    ...{ authorized_block: 0, settlement_gas: 0, created_at: '2026-01-01', updated_at: '2026-01-01' },
    ...more,
  }
  const payment = sql`jsonb_populate_record(null::payments, ${JSON.stringify(row)}::jsonb)`
  return sql`insert into payments overriding user value select (${payment}).*`
}

/** Whether the guard allows an update from one state to another. Rolled back. */
async function isAllowed(ledger: Ledger, from: string, to: string): Promise<boolean> {
  const charge = ['authorized', 'released', 'expired'].includes(from) ? null : from === 'zero' ? 0 : 1
  const refusal = await ledger.db
    .transaction(async (tx) => {
      await tx.execute(insert({ state: from, charge }))
      await tx.execute(sql`update payments set state = ${to}`)
      throw new Error('the guard let it pass')
    })
    .catch((error: Error) => (error.cause instanceof Error ? error.cause.message : error.message))
  return !/cannot go from/.test(refusal)
}

/** Wei that payer `0xa` has cost: sponsored with 1,000, it settled 7 units, worth 100 each, to `payTo`. */
async function sponsoredOf(ledger: Ledger, payTo: string): Promise<number> {
  let cost = Number.NaN
  const now = new Date().toISOString()
  const settled = {
    state: 'settled',
    payer: '0xa',
    pay_to: payTo,
    charge: 7,
    maximum: 7,
    sponsored_gas: 1_000,
    created_at: now,
  }
  const done = new Error('read')
  await ledger.db
    .transaction(async (tx) => {
      await tx.execute(insert(settled))
      const [row] = await tx
        .select({ cost: sql<string>`sponsored_gas('eip155:1', '0x', '0xa', 100)` })
        .from(sql`(select 1) as one`)
      cost = Number(row?.cost)
      throw done
    })
    .catch((error) => {
      if (error !== done) throw error
    })
  return cost
}
