import { randomUUID } from 'node:crypto'
import {
  DEVNET_ACCOUNTS,
  DEVNET_ROLES,
  type DevnetAccount,
  fundBuyer,
  startDevnet,
  USDC_ADDRESS,
} from '@upfront/devnet'
import type { PaymentPayload } from '@x402/core/types'
import { getAddress } from 'viem'
import { runBilling, TOKEN } from './support/billing.js'
import { makeRequirements, SELLER, sign } from './support/buyer.js'
import { usdcBalance, useStand } from './support/stand.js'
import { oneStore, stores } from './support/stores.js'

type Fields = Record<string, unknown>
type Wire = PaymentPayload & { payload: { signature: string; permit2Authorization: Fields & Record<string, Fields> } }

const CURVE_ORDER = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n

function changed(payload: PaymentPayload, change: (wire: Wire) => void): PaymentPayload {
  const copy = structuredClone(payload) as Wire
  change(copy)
  return copy
}

/** The same signature with s mirrored and v flipped, which ecrecover accepts too. */
function mirrored(signature: string): string {
  const s = CURVE_ORDER - BigInt(`0x${signature.slice(66, 130)}`)
  const v = signature.slice(130) === '1b' ? '1c' : '1b'
  return `${signature.slice(0, 66)}${s.toString(16).padStart(64, '0')}${v}`
}

/** Different encodings of one signed authorization. */
const encodings: [string, (wire: Wire) => void][] = [
  ['as it was signed', () => {}],
  [
    'its hex in capitals',
    ({ payload }) => Object.assign(payload, { signature: `0x${payload.signature.slice(2).toUpperCase()}` }),
  ],
  [
    'its addresses in lower case',
    ({ payload: { permit2Authorization: all } }) =>
      Object.assign(all, { from: String(all.from).toLowerCase(), spender: String(all.spender).toLowerCase() }),
  ],
  [
    'its addresses with a checksum',
    ({ payload: { permit2Authorization: all } }) => {
      Object.assign(all, { from: getAddress(String(all.from)) })
      Object.assign(all.permitted as Fields, { token: getAddress(USDC_ADDRESS) })
    },
  ],
  [
    'with fields that nobody asked for',
    (wire) => Object.assign(wire.payload.permit2Authorization, { id: randomUUID() }),
  ],
  [
    'with extensions',
    (wire) => Object.assign(wire, { extensions: { 'payment-identifier': { info: { id: randomUUID() } } } }),
  ],
  ['with another resource', (wire) => Object.assign(wire, { resource: { url: 'https://elsewhere.example' } })],
  ['its signature mirrored', ({ payload }) => Object.assign(payload, { signature: mirrored(payload.signature) })],
]

describe.each(oneStore())('hostile input, on $name', (store) => {
  const test = store.missing === null ? it : it.skip
  const stand = useStand(store)

  const post = (path: string, body: string, headers: Record<string, string> = {}) =>
    fetch(`${stand.billing.url}${path}`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${TOKEN}`,
        'idempotency-key': randomUUID(),
        'content-type': 'application/json',
        ...headers,
      },
      body,
    })

  test('one authorization is used once, whatever its encoding', async () => {
    const payload = await sign()
    const variants = encodings.map(([, change]) => changed(payload, change))
    const results = await Promise.all([...variants, ...variants].map((variant) => stand.billing.authorize(variant)))
    expect(results.filter(({ outcome }) => outcome === 'authorized')).toHaveLength(1)
    for (const variant of variants) {
      expect(await stand.billing.authorize(variant)).toMatchObject({ reason: 'permit2_invalid_nonce' })
      expect((await stand.billing.settle(variant, '1')).body).toMatchObject({ success: false })
    }
  })

  test.each(encodings)('settles an authorization in this encoding: %s', async (_, change) => {
    const result = await stand.billing.authorize(changed(await sign(), change))
    if (result.outcome !== 'authorized') throw new Error(`${result.reason}: ${result.message}`)
    expect((await stand.billing.charge(result.payment.id, '3')).payment.state).toBe('settled')
  })

  test.each<[string, string, (wire: Wire) => void]>([
    [
      'v of 0 or 1',
      'permit2_simulation_failed',
      ({ payload }) => {
        const v = payload.signature.endsWith('1b') ? '00' : '01'
        Object.assign(payload, { signature: payload.signature.slice(0, -2) + v })
      },
    ],
    [
      'a signature of 64 bytes',
      'invalid_permit2_signature',
      ({ payload }) => Object.assign(payload, { signature: payload.signature.slice(0, -2) }),
    ],
    [
      'a signature with 0X',
      'invalid_payload',
      ({ payload }) => Object.assign(payload, { signature: payload.signature.replace('0x', '0X') }),
    ],
    [
      'a signature of zeros',
      'invalid_permit2_signature',
      ({ payload }) => Object.assign(payload, { signature: `0x${'00'.repeat(65)}` }),
    ],
    [
      'an address with 0X',
      'invalid_payload',
      ({ payload: { permit2Authorization: all } }) =>
        Object.assign(all, { spender: `0X${String(all.spender).slice(2)}` }),
    ],
    ['no signature', 'invalid_payload', ({ payload }) => Object.assign(payload, { signature: null })],
    ['version 1', 'invalid_payload', (wire) => Object.assign(wire, { x402Version: 1 })],
    [
      'a network with zeros in front',
      'invalid_network',
      ({ accepted }) => Object.assign(accepted, { network: 'eip155:031337' }),
    ],
    ['another scheme', 'invalid_upto_evm_scheme', ({ accepted }) => Object.assign(accepted, { scheme: 'deferred' })],
    ['another token in the offer', 'unsupported_asset', ({ accepted }) => Object.assign(accepted, { asset: SELLER })],
    ...[
      '1e5',
      '0x186a0',
      '+100000',
      ' 100000',
      '100000.0',
      '-1',
      '',
      '١٠٠٠٠٠',
      `1${'0'.repeat(78)}`,
      100_000,
      null,
    ].map((amount): [string, string, (wire: Wire) => void] => [
      `an amount of ${JSON.stringify(amount)}`,
      'invalid_payload',
      ({ payload }) => Object.assign(payload.permit2Authorization.permitted as Fields, { amount }),
    ]),
    ...['deadline', 'nonce'].map((field): [string, string, (wire: Wire) => void] => [
      `a ${field} that is a number`,
      'invalid_payload',
      ({ payload }) => Object.assign(payload.permit2Authorization, { [field]: 99_999_999_999 }),
    ]),
  ])('refuses %s as %s', async (_, reason, change) => {
    const payload = changed(await sign(), change)
    expect(await stand.billing.authorize(payload)).toMatchObject({ outcome: 'refused', reason })
    expect((await stand.billing.verify(payload)).body).toMatchObject({ isValid: false, invalidReason: reason })
  })

  test.each<[string, unknown]>([
    ...[30_000, '0x7530', '3e4', '30000.0', '-1', '', null, `1${'0'.repeat(78)}`].map((amount): [string, unknown] => [
      JSON.stringify(amount),
      { amount },
    ]),
    ['no amount', {}],
    ['a reason with a NUL', { amount: '1', reason: 'a\u0000b' }],
    ['a reason with half a character', { amount: '1', reason: '\ud800' }],
    ['a wait of years', { amount: '1', waitMilliseconds: 1e12 }],
    ['a field nobody knows', { amount: '1', tip: '1' }],
    ['a prototype', JSON.parse('{"amount": "1", "__proto__": {"tip": "1"}}')],
    ['a constructor', { amount: '1', constructor: { prototype: { tip: '1' } } }],
  ])('answers 400 to a charge of %s, and charges nothing', async (_, body) => {
    const { id } = await stand.billing.authorizeNew()
    const answer = await stand.billing.send(`/internal/payments/${id}/charge`, { body, key: randomUUID() })
    expect(answer).toMatchObject({ status: 400, body: { error: { code: 'invalid_request' } } })
    expect(await stand.billing.payment(id)).toMatchObject({ state: 'authorized', charge: null })
  })

  test.each<[string, string]>([
    ['no JSON', '{'],
    ['nothing', ''],
    ['a prototype', '{"__proto__": {"paymentRequirements": {}}}'],
    ['a constructor', '{"constructor": {"prototype": {"x": 1}}}'],
    ['arrays in arrays', '['.repeat(60_000) + ']'.repeat(60_000)],
    ['objects in objects', `${'{"a":'.repeat(20_000)}1${'}'.repeat(20_000)}`],
    ['a deep offer', `{"paymentRequirements": ${'{"a":'.repeat(20_000)}1${'}'.repeat(20_000)}}`],
    ['a deep payload', `{"paymentRequirements": {}, "paymentPayload": ${'['.repeat(50_000)}${']'.repeat(50_000)}}`],
    ['a route with a NUL', '{"paymentRequirements": {}, "route": "GET /\\u0000"}'],
  ])('%s in a body causes no server error and leaks no stack trace', async (_, body) => {
    for (const path of ['/internal/payments', '/internal/payments/pay_1/charge', '/verify', '/settle']) {
      const answer = await post(path, body)
      expect({
        path,
        ok: answer.status < 500 && (answer.status >= 400 || path === '/verify' || path === '/settle'),
      }).toEqual({ path, ok: true })
      expect(await answer.text()).not.toMatch(/node_modules|at .*\.js|RangeError/)
    }
  })

  test('takes a payment whose extensions contain names of prototypes', async () => {
    const extensions = '{"a": {"__proto__": {"b": 1}, "constructor": {"prototype": {"b": 1}}}}'
    for (const path of ['/verify', '/internal/payments', '/settle']) {
      const payload = await sign()
      const { accepted } = payload
      const wire = `${JSON.stringify(payload).slice(0, -1)}, "extensions": ${extensions}}`
      const answer = await post(path, `{"paymentPayload": ${wire}, "paymentRequirements": ${JSON.stringify(accepted)}}`)
      const { isValid, outcome, success } = (await answer.json()) as Record<string, unknown>
      expect({ path, taken: isValid ?? outcome ?? success }).toEqual({
        path,
        taken: path === '/internal/payments' ? 'authorized' : true,
      })
    }
  })

  test.each([
    '/payments/%00',
    '/payments?route=%00',
    '/payments?cursor=-1',
    '/internal/payments/%00',
    '/payments/..%2f',
    '/payments?limit=1e2&state[]=x',
    '/payments?from=0',
  ])('GET %s is a client error', async (path) => {
    const { status } = await stand.billing.send(path)
    expect(status).toBeGreaterThanOrEqual(400)
    expect(status).toBeLessThan(500)
  })

  test('answers 400 to a body of another content type, and to an invalid Idempotency-Key', async () => {
    expect((await post('/verify', '{}', { 'content-type': 'text/plain' })).status).toBe(400)
    for (const key of ['', ' ', 'a b', 'x'.repeat(201), 'ü']) {
      const answer = await post('/internal/payments', '{"paymentRequirements": {}}', { 'idempotency-key': key })
      expect({ key, status: answer.status }).toEqual({ key, status: 400 })
    }
  })

  test('refuses an idempotency key that is reused for another payment or operation', async () => {
    const [first, second] = [await sign(), await sign()]
    const key = randomUUID()
    const parallel = await Promise.allSettled(
      [first, second].map((payload) => stand.billing.authorize(payload, { key })),
    )
    expect(parallel.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
    const { id } = await stand.billing.authorizeNew()
    const other = await stand.billing.authorizeNew()
    await expect(stand.billing.charge(id, '5', { key })).rejects.toThrow('idempotency_key_reused')
    const charge = randomUUID()
    await stand.billing.charge(id, '5', { key: charge })
    await expect(stand.billing.charge(other.id, '5', { key: charge })).rejects.toThrow('idempotency_key_reused')
    await expect(stand.billing.release(other.id, 'x', charge)).rejects.toThrow()
    expect(await stand.billing.payment(other.id)).toMatchObject({ state: 'authorized' })
  })

  test('stays healthy whatever idempotency keys its clients use', async () => {
    await stand.billing.authorize(await sign(), { key: 'health' })
    expect((await stand.billing.send('/health')).status).toBe(200)
  })

  test('compares the deadline with minimumValiditySeconds', async () => {
    const now = Math.floor(Date.now() / 1_000)
    const far = await sign(makeRequirements({ maxTimeoutSeconds: 31_536_000 }))
    expect(await stand.billing.authorize(far)).toMatchObject({ outcome: 'authorized' })
    const near = await sign(makeRequirements({ maxTimeoutSeconds: 900 }))
    const deadline = Number((near as Wire).payload.permit2Authorization.deadline)
    const tooMuch = { minimumValiditySeconds: deadline - now }
    expect(await stand.billing.authorize(near, tooMuch)).toMatchObject({ reason: 'permit2_deadline_expired' })
    expect(await stand.billing.authorize(near)).toMatchObject({ outcome: 'authorized' })
  })
})

const postgres = stores().find(({ name }) => name === 'Postgres')
describe('two billing processes on one ledger', () => {
  const test = postgres?.missing === null ? it : it.skip
  beforeAll(async () => {
    if (postgres?.missing === null) await postgres.start()
  })
  afterAll(() => postgres?.stop())

  test('reserve, check the balance and charge once, whichever process is called', async () => {
    const devnet = await startDevnet()
    const variables = (await postgres?.variables()) ?? {}
    const [one, two] = [await runBilling(devnet.rpcUrl, variables), await runBilling(devnet.rpcUrl, variables)]
    try {
      const payload = await sign()
      const uses = await Promise.all(
        Array.from({ length: 40 }, (_, index) => (index % 2 === 0 ? one : two).authorize(payload)),
      )
      expect(uses.filter(({ outcome }) => outcome === 'authorized')).toHaveLength(1)

      const poor = DEVNET_ACCOUNTS[8] as DevnetAccount
      await fundBuyer(devnet.rpcUrl, poor, { amount: 150_000n })
      const payloads = await Promise.all(Array.from({ length: 10 }, () => sign(makeRequirements(), poor)))
      const covered = await Promise.all(payloads.map((each, index) => (index % 2 === 0 ? one : two).authorize(each)))
      expect(covered.filter(({ outcome }) => outcome === 'authorized')).toHaveLength(1)

      const before = await usdcBalance(devnet, SELLER)
      const { id } = await one.authorizeNew(makeRequirements({ facilitator: DEVNET_ROLES.facilitators[0].address }))
      const key = randomUUID()
      const charges = await Promise.all([one, two, one, two].map((billing) => billing.charge(id, '9', { key })))
      expect(
        new Set(charges.map(({ outcome, payment }) => `${outcome} ${payment.state} ${payment.transaction}`)).size,
      ).toBe(1)
      const rivals = await Promise.all([one, two].map((billing, index) => billing.charge(id, String(index + 1))))
      expect(rivals.map(({ outcome }) => outcome)).toEqual(['refused', 'refused'])
      expect(await usdcBalance(devnet, SELLER)).toBe(before + 9n)
    } finally {
      await Promise.all([one.close(), two.close()])
      await devnet.stop()
    }
  })
})
