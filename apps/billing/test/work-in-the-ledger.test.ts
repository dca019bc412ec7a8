import { DEVNET_ROLES, type Devnet, type FaultProxy, startDevnet, startFaultProxy } from '@upfront/devnet'
import { Client } from 'pg'
import { createTestClient, http } from 'viem'
import { runBilling } from './support/billing.js'
import { makeRequirements, sign } from './support/buyer.js'
import { rpc } from './support/on-chain.js'
import type { RunningBilling } from './support/stand.js'
import { stores } from './support/stores.js'
import { until } from './support/until.js'

const IN_FLIGHT = 16
/** `npm run test:races` uses more. */
const QUEUED = Number(process.env.QUEUED_CHARGES ?? 4_000)
/** No timer fires before the test ends. */
const NEVER = { recoveryMs: '600000' }
const [first, second] = DEVNET_ROLES.facilitators

interface Signed {
  nonce: string
  deadline: string
  valid_after: string
  signature: string
}

/** Inserts charges straight into the ledger, as other processes would: those given, and `more` that nobody signed. */
async function queueCharges(databaseUrl: string, like: string, signed: Signed[], more: number): Promise<void> {
  const client = new Client({ connectionString: databaseUrl })
  await client.connect()
  await client.query('begin')
  const insert = `insert into payments overriding user value
    select (jsonb_populate_record(payment, jsonb_build_object('id', 'pay_' || gen_random_uuid(),
      'state', 'charging', 'charge', 1, 'charged_at', now(), 'next_look', now()) || queued.fields)).*
    from payments as payment, (%) as queued where payment.id = $1`
  const given = 'select fields from jsonb_array_elements($2::jsonb) as fields'
  await client.query(insert.replace('%', given), [like, JSON.stringify(signed)])
  // They expire later than those above, so they come after them.
  const invented = `select jsonb_build_object('nonce', n, 'deadline', 99999999999) as fields from generate_series(1, $2::int) as n`
  await client.query(insert.replace('%', invented), [like, more])
  await client.query(`insert into payment_events (payment_id, at, kind, to_state, data)
    select id, updated_at, 'charged', 'charging', '{}' from payments where state = 'charging'`)
  await client.query('commit')
  await client.end()
}

const postgres = stores().find(({ name }) => name === 'Postgres')
const missing = postgres?.missing ?? null

describe('charges queued in Postgres', () => {
  const test = missing === null ? it : it.skip
  let devnet: Devnet
  let node: FaultProxy
  let databaseUrl: string
  const running: RunningBilling[] = []
  const run = async (variables: NodeJS.ProcessEnv) => {
    const billing = await runBilling(node.url, { DATABASE_URL: databaseUrl, ...variables })
    running.push(billing)
    return billing
  }

  beforeAll(async () => {
    if (missing !== null) return console.warn(`skipped: ${missing}`)
    await postgres?.start()
  })
  beforeEach(async () => {
    if (missing !== null) return
    devnet = await startDevnet()
    node = await startFaultProxy(devnet.rpcUrl)
    databaseUrl = (await postgres?.variables())?.DATABASE_URL ?? ''
  })
  afterEach(async () => {
    await Promise.all(running.splice(0).map((billing) => billing.close()))
    await node?.stop()
    await devnet?.stop()
  })
  afterAll(() => postgres?.stop())

  test(`of ${QUEUED} charges, the first to expire is sent first, and only those that may be in flight are checked`, async () => {
    const billing = await run({
      inFlightPerSigner: String(IN_FLIGHT),
      feeBumpMs: NEVER.recoveryMs,
      dailyGasBudget: (10n ** 21n).toString(),
    })
    const own = await billing.authorizeNew(makeRequirements({ maximum: '1000' }))
    const signed = await Promise.all(
      Array.from({ length: 4 * IN_FLIGHT }, async () => {
        const { payload } = await sign(makeRequirements({ maximum: '1000' }))
        const { signature, permit2Authorization } = payload as {
          signature: string
          permit2Authorization: { nonce: string; deadline: string; witness: { validAfter: string } }
        }
        const { nonce, deadline, witness } = permit2Authorization
        return { nonce, signature, deadline, valid_after: witness.validAfter }
      }),
    )
    const test = createTestClient({ mode: 'anvil', transport: http(devnet.rpcUrl) })
    await test.setAutomine(false)
    node.reset()
    await queueCharges(databaseUrl, own.id, signed, QUEUED)
    const soonest = () => billing.authorizeNew(makeRequirements({ maximum: '1000', maxTimeoutSeconds: 300 }))
    const { id: firstId } = await soonest()
    await billing.charge(firstId, '5', { waitMilliseconds: 0 })
    await until(async () => new Set(node.sent).size >= IN_FLIGHT)
    const { id } = await soonest()
    await billing.charge(id, '900', { waitMilliseconds: 0 })
    const head = BigInt(String(await rpc(devnet.rpcUrl, 'eth_blockNumber', [])))
    expect(new Set(node.sent).size).toBe(IN_FLIGHT)
    // One for each that is sent; three for each that is verified.
    expect(node.stats.byMethod.eth_call).toBe(IN_FLIGHT + 2 * 3)
    await test.mine({ blocks: 1 })
    // A transaction is stored before it is sent.
    await until(async () => {
      const { transaction } = await billing.payment(id)
      return transaction !== null && (await rpc(devnet.rpcUrl, 'eth_getTransactionByHash', [transaction])) !== null
    })
    await test.mine({ blocks: 1 })
    await until(async () => (await billing.payment(id)).state === 'settled')
    expect((await billing.payment(id)).blockNumber).toBe(head + 2n)
  })

  test('one payment takes at most 22 queries', async () => {
    const billing = await run({ ...NEVER, reconcileMs: NEVER.recoveryMs })
    const settleOne = async () => (await billing.charge((await billing.authorizeNew()).id, '5')).payment.state
    expect(await settleOne()).toBe('settled')
    const { query } = Client.prototype
    let asked = 0
    const counted = function (this: Client, ...values: Parameters<typeof query>) {
      asked += 1
      return query.apply(this, values)
    }
    Object.assign(Client.prototype, { query: counted })
    try {
      expect(await settleOne()).toBe('settled')
    } finally {
      Object.assign(Client.prototype, { query })
    }
    // Authorized 3; charged 1; claimed 1; signed 5; its receipt 2; read again 1; the rest are checks for open work.
    expect(asked).toBeLessThanOrEqual(22)
  })

  test('a process with the key settles a charge that another process stored, without polling', async () => {
    const holder = await run({ ...NEVER, FACILITATOR_PRIVATE_KEYS: first.privateKey })
    const seller = await run({ ...NEVER, FACILITATOR_PRIVATE_KEYS: second.privateKey })
    const { id } = await seller.authorizeNew(makeRequirements({ facilitator: first.address }))
    expect((await seller.charge(id, '4000')).payment).toMatchObject({ state: 'settled', charge: 4_000n })
    expect(await holder.payment(id)).toMatchObject({ facilitator: first.address.toLowerCase() })
  })
})
