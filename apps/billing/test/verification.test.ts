import { randomUUID } from 'node:crypto'
import { DEVNET_ACCOUNTS, DEVNET_ROLES, fundBuyer, USDC_ADDRESS, usdcAbi } from '@upfront/devnet'
import type { PaymentPayload } from '@x402/core/types'
import { Client } from 'pg'
import { createWalletClient, http } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { runBilling } from './support/billing.js'
import { makeRequirements, sign } from './support/buyer.js'
import { useStand } from './support/stand.js'
import { oneStore } from './support/stores.js'
import { until } from './support/until.js'

type Fields = Record<string, unknown>

/** A signed payload with fields of its authorization replaced after it was signed. */
async function forged(change: (authorization: Fields & { witness: Fields; permitted: Fields }) => void) {
  const payload = structuredClone(await sign()) as PaymentPayload
  change(
    (payload.payload as { permit2Authorization: Fields & { witness: Fields; permitted: Fields } }).permit2Authorization,
  )
  return payload
}

/** Row counts of the ledger's tables; `null` on PGlite, which allows no second connection. */
async function countRows({ DATABASE_URL }: Record<string, string>): Promise<Record<string, number> | null> {
  if (DATABASE_URL === undefined) return null
  const client = new Client({ connectionString: DATABASE_URL })
  await client.connect()
  try {
    const tables = await client.query("select tablename from pg_tables where schemaname = 'public' order by 1")
    const rows: Record<string, number> = {}
    for (const { tablename } of tables.rows) {
      const { rowCount } = await client.query(`select from "${tablename}"`)
      rows[tablename] = rowCount ?? 0
    }
    return rows
  } finally {
    await client.end()
  }
}

const OTHER = `0x${'12'.repeat(20)}`

describe.each(oneStore())('verification, on $name', (store) => {
  const test = store.missing === null ? it : it.skip
  const stand = useStand(store)

  const hex = (value: unknown) => `0x${BigInt(String(value)).toString(16)}`
  test.each<[string, string, () => Promise<PaymentPayload>]>([
    [
      'another token',
      'permit2_token_mismatch',
      () => forged(({ permitted }) => Object.assign(permitted, { token: OTHER })),
    ],
    [
      'a lower amount',
      'permit2_amount_mismatch',
      () => forged(({ permitted }) => Object.assign(permitted, { amount: '1' })),
    ],
    [
      'another payTo',
      'invalid_permit2_recipient_mismatch',
      () => forged(({ witness }) => Object.assign(witness, { to: OTHER })),
    ],
    ['another spender', 'invalid_permit2_spender', () => forged((all) => Object.assign(all, { spender: OTHER }))],
    [
      "a stranger's facilitator",
      'upto_facilitator_mismatch',
      () => forged(({ witness }) => Object.assign(witness, { facilitator: OTHER })),
    ],
    [
      'a nonce that was not signed',
      'invalid_permit2_signature',
      () => forged((all) => Object.assign(all, { nonce: '1' })),
    ],
    [
      'a deadline that has passed',
      'permit2_deadline_expired',
      () => forged((all) => Object.assign(all, { deadline: '1' })),
    ],
    [
      'a time to come',
      'permit2_not_yet_valid',
      () => forged(({ witness }) => Object.assign(witness, { validAfter: '99999999999' })),
    ],
    [
      'an amount in hex',
      'invalid_payload',
      () => forged(({ permitted }) => Object.assign(permitted, { amount: hex(permitted.amount) })),
    ],
    [
      'an amount with leading zeros',
      'invalid_payload',
      () => forged(({ permitted }) => Object.assign(permitted, { amount: `0${permitted.amount}` })),
    ],
    ['a nonce in hex', 'invalid_payload', () => forged((all) => Object.assign(all, { nonce: hex(all.nonce) }))],
    ['no witness', 'invalid_payload', () => forged((all) => Object.assign(all, { witness: null }))],
    [
      'a payer without an approval',
      'permit2_allowance_required',
      () => sign(makeRequirements(), DEVNET_ROLES.unapprovedBuyer),
    ],
    ['a payer without tokens', 'permit2_insufficient_balance', () => sign(makeRequirements(), DEVNET_ACCOUNTS[9])],
    ['a network that is not served', 'invalid_network', () => sign(makeRequirements({ network: 'eip155:1' }))],
  ])('refuses %s as %s in both APIs, and stores at most an idempotency key', async (_, reason, make) => {
    const payload = await make()
    const stored = await countRows(stand.variables)
    if (stored !== null && /allowance|balance/.test(reason)) stored.idempotency_keys! += 1
    const refused = await stand.billing.authorize(payload)
    expect(refused).toMatchObject({ outcome: 'refused', reason })
    expect((await stand.billing.verify(payload)).body).toMatchObject({ isValid: false, invalidReason: reason })
    expect(JSON.stringify(refused)).not.toMatch(/viem|docs:|Error|at .*\.js/)
    expect(await countRows(stand.variables)).toEqual(stored)
  })

  test('authorizes under a key whose first call was refused, and then repeats that answer', async () => {
    const key = randomUUID()
    const offer = makeRequirements({ maxTimeoutSeconds: 20 })
    const tooShort = await stand.billing.authorize(await sign(offer), { key, minimumValiditySeconds: 15 })
    expect(tooShort).toMatchObject({ outcome: 'refused' })
    const payload = await sign()
    const first = await stand.billing.authorize(payload, { key })
    expect(first).toMatchObject({ outcome: 'authorized' })
    expect(await stand.billing.authorize(payload, { key })).toEqual(first)
    await expect(stand.billing.authorize(await sign(), { key })).rejects.toThrow('idempotency_key_reused')
  })

  test('refuses a deadline that does not cover minimumValiditySeconds and the settlement', async () => {
    const payload = await sign(makeRequirements({ maxTimeoutSeconds: 20 }))
    expect(await stand.billing.authorize(payload, { minimumValiditySeconds: 15 })).toMatchObject({
      reason: 'permit2_deadline_expired',
    })
    expect(await stand.billing.authorize(payload, { minimumValiditySeconds: 10 })).toMatchObject({
      outcome: 'authorized',
    })
  })

  test('refuses a second payment that the allowance does not cover', async () => {
    const account = privateKeyToAccount(DEVNET_ROLES.unapprovedBuyer.privateKey)
    const wallet = createWalletClient({ account, transport: http(stand.devnet.rpcUrl) })
    const args = ['0x000000000022D473030F116dDEE9F6B43aC78BA3', 150_000n] as const
    await wallet.writeContract({ chain: null, address: USDC_ADDRESS, abi: usdcAbi, functionName: 'approve', args })
    const [first, second] = [1, 2].map(() => sign(makeRequirements(), DEVNET_ROLES.unapprovedBuyer))
    expect(await stand.billing.authorize((await first) as PaymentPayload)).toMatchObject({ outcome: 'authorized' })
    expect(await stand.billing.authorize((await second) as PaymentPayload)).toMatchObject({
      reason: 'permit2_allowance_required',
    })
    expect((await stand.billing.verify((await second) as PaymentPayload)).body).toMatchObject({ isValid: false })
    await wallet.writeContract({
      chain: null,
      address: USDC_ADDRESS,
      abi: usdcAbi,
      functionName: 'approve',
      args: [args[0], 0n],
    })
  })

  test.each([
    ['no body', undefined, 'body'],
    ['an unknown field', { paymentRequirements: {}, colour: 1 }, 'colour'],
    ['requirements that are no object', { paymentPayload: {}, paymentRequirements: 7 }, 'paymentRequirements'],
    [
      'a validity that is no number',
      { paymentRequirements: {}, minimumValiditySeconds: '5' },
      'minimumValiditySeconds',
    ],
  ])('answers %s with 400 and the field', async (_, body, field) => {
    const answer = await stand.billing.send('/internal/payments', { body: body ?? null, key: 'any' })
    expect(answer.status).toBe(400)
    expect(answer.body).toMatchObject({ error: { code: 'invalid_request', field } })
  })

  test('answers 401 without the token, and 400 without an Idempotency-Key', async () => {
    expect((await stand.billing.send('/internal/payments', { body: {}, key: 'any', token: 'wrong' })).status).toBe(401)
    expect((await stand.billing.send('/internal/tokens/eip155:31337/0x0', { token: '' })).status).toBe(401)
    const { status, body } = await stand.billing.send('/internal/payments', { body: { paymentRequirements: {} } })
    expect(status).toBe(400)
    expect(body).toMatchObject({ error: { field: 'Idempotency-Key' } })
  })

  test('returns decimals, name and version of its tokens, and 404 for others', async () => {
    const { body } = await stand.billing.send(`/internal/tokens/eip155:31337/${USDC_ADDRESS}`)
    expect(body).toMatchObject({ asset: USDC_ADDRESS.toLowerCase(), decimals: 6, name: 'USDC', version: '2' })
    expect((await stand.billing.send(`/internal/tokens/eip155:31337/${OTHER}`)).status).toBe(404)
  })

  test('makes the same offer in every replica, and settles with each signer', async () => {
    const keys = DEVNET_ROLES.facilitators.map(({ privateKey }) => privateKey)
    const run = async (order: string[]) =>
      runBilling(stand.devnet.rpcUrl, { ...(await store.variables()), FACILITATOR_PRIVATE_KEYS: order.join(',') })
    const replicas = [await run(keys), await run([...keys].reverse())] as const
    try {
      const offers = await Promise.all(replicas.map((replica) => replica.send('/supported')))
      expect(offers[0]?.body).toEqual(offers[1]?.body)
      for (const { address } of DEVNET_ROLES.facilitators) {
        const { id } = await replicas[0].authorizeNew(makeRequirements({ facilitator: address }))
        const { payment } = await replicas[0].charge(id, '10')
        expect(payment).toMatchObject({ state: 'settled', facilitator: address.toLowerCase() })
      }
    } finally {
      for (const replica of replicas) await replica.close()
    }
  })

  test('neither offers nor accepts a signer whose process has ended', async () => {
    const [first, second] = DEVNET_ROLES.facilitators
    const ledger = await store.variables()
    const both = { ...ledger, recoveryMs: '200' }
    const run = (key: string) => runBilling(stand.devnet.rpcUrl, { ...both, FACILITATOR_PRIVATE_KEYS: key })
    if (!('DATABASE_URL' in ledger)) return
    const [staying, leaving] = [await run(first.privateKey), await run(second.privateKey)]
    try {
      const isOffered = async () =>
        JSON.stringify((await staying.send('/supported')).body).includes(second.address.toLowerCase())
      const payload = () => sign(makeRequirements({ facilitator: second.address }))
      await until(isOffered)
      expect((await staying.verify(await payload())).body).toMatchObject({ isValid: true })
      await leaving.close()
      await until(async () => !(await isOffered()))
      const { body } = await staying.verify(await payload())
      expect(body).toMatchObject({ isValid: false, invalidReason: 'upto_facilitator_mismatch' })
    } finally {
      await staying.close()
    }
  })

  test('answers bodies of any shape below 500, and huge ones with 413', async () => {
    await fundBuyer(stand.devnet.rpcUrl, DEVNET_ROLES.buyer, { amount: 1n })
    for (const path of ['/verify', '/settle']) {
      for (const body of [null, [], 'x', 7, {}, { paymentPayload: null, paymentRequirements: null }]) {
        expect((await stand.billing.send(path, { body })).status).toBeLessThan(500)
      }
      const huge = { paymentPayload: 'x'.repeat(200_000) }
      expect((await stand.billing.send(path, { body: huge })).status).toBe(413)
    }
    expect((await stand.billing.send('/health')).status).toBe(200)
  })
})
