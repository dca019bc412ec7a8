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

  it.each(PAYMENT_STATES)('let a payment that is %s go where TypeScript does, and nowhere else', async (from) => {
    const allowed: string[] = []
    for (const to of PAYMENT_STATES.filter((state) => state !== from)) {
      if (await isAllowed(ledger, from, to)) allowed.push(to)
    }
    expect(allowed.sort()).toEqual([...(PAYMENT_TRANSITIONS[from] ?? [])].sort())
  })
})

/** Whether the guard lets an update from one state to another pass. Nothing is kept of it. */
async function isAllowed(ledger: Ledger, from: string, to: string): Promise<boolean> {
  const charge = ['authorized', 'released', 'expired'].includes(from) ? null : from === 'zero' ? 0 : 1
  const row = {
    ...{
      id: 'pay_1',
      origin: 'internal',
      kind: 'upto-permit2',
      state: from,
      network: 'eip155:1',
      asset: '0x',
      payer: '0x',
      pay_to: '0x',
    },
    ...{ facilitator: '0x', nonce: 1, maximum: 1, valid_after: 0, deadline: 1, signature: '0x', charge },
    ...{ authorized_block: 0, settlement_gas: 0, created_at: '2026-01-01', updated_at: '2026-01-01' },
  }
  const refusal = await ledger.db
    .transaction(async (tx) => {
      const payment = sql`jsonb_populate_record(null::payments, ${JSON.stringify(row)}::jsonb)`
      await tx.execute(sql`insert into payments overriding user value select (${payment}).*`)
      await tx.execute(sql`update payments set state = ${to}`)
      throw new Error('the guard let it pass')
    })
    .catch((error: Error) => (error.cause instanceof Error ? error.cause.message : error.message))
  return !/cannot go from/.test(refusal)
}
