import { type Devnet, startDevnet } from '@upfront/devnet'
import { Client } from 'pg'
import { runBilling } from './support/billing.js'
import { sign } from './support/buyer.js'
import type { RunningBilling } from './support/stand.js'
import { stores } from './support/stores.js'
import { until } from './support/until.js'

const postgres = stores().find(({ name }) => name === 'Postgres')
const missing = postgres?.missing ?? null

describe('a ledger that can only be read', () => {
  const test = missing === null ? it : it.skip
  let devnet: Devnet
  let billing: RunningBilling
  let admin: Client

  /** Like a full disk or a standby: every connection is lost, and new ones can only read. */
  const makeReadOnly = async (isReadOnly: boolean) => {
    await admin.query('set default_transaction_read_only = off')
    const { rows } = await admin.query('select current_database() as name')
    await admin.query(`alter database ${rows[0].name} set default_transaction_read_only = ${isReadOnly ? 'on' : 'off'}`)
    await admin.query(`select pg_terminate_backend(pid) from pg_stat_activity
      where datname = current_database() and pid <> pg_backend_pid()`)
  }
  const health = () => billing.send('/health')

  beforeAll(async () => {
    if (missing !== null) return console.warn(`skipped: ${missing}`)
    await postgres?.start()
    devnet = await startDevnet()
    const variables = (await postgres?.variables()) ?? {}
    billing = await runBilling(devnet.rpcUrl, { ...variables, recoveryMs: '200' })
    admin = new Client({ connectionString: variables.DATABASE_URL ?? '' })
    await admin.connect()
  })
  afterAll(async () => {
    await admin?.end()
    await billing?.close()
    await devnet?.stop()
    await postgres?.stop()
  })

  test('makes /health and new payments answer 503, and settles again once it is writable', async () => {
    expect((await health()).status).toBe(200)
    const { id } = await billing.authorizeNew()
    await makeReadOnly(true)
    const sick = await until(health, ({ status }) => status === 503)
    expect(sick.body).toMatchObject({ ready: false, status: 'unavailable', ledger: { status: 'unreachable' } })
    // Reads still work, so they do not reveal the problem.
    const read = await until(
      () => billing.send(`/payments/${id}`),
      // A lost connection is noticed only when it is used.
      ({ status }) => status !== 503,
    )
    expect(read.body).toMatchObject({ payment: { state: 'authorized' } })
    const paymentPayload = await sign()
    const body = { paymentPayload, paymentRequirements: paymentPayload.accepted }
    expect((await billing.send('/internal/payments', { body, key: 'while-read-only' })).status).toBe(503)
    await makeReadOnly(false)
    await until(health, ({ status }) => status === 200)
    // The listening connection was lost as well.
    const charge = { body: { amount: '5' }, key: 'once-it-can-be-written' }
    const charged = await until(
      () => billing.send(`/internal/payments/${id}/charge`, charge),
      ({ status }) => status !== 503,
    )
    expect(charged.body).toMatchObject({ payment: { state: 'settled' } })
  })
})
