import { DEVNET_ROLES } from '@upfront/devnet'
import { READ_TOKEN, runBilling } from './support/billing.js'
import { makeRequirements, sign } from './support/buyer.js'
import { useStand } from './support/stand.js'
import { stores } from './support/stores.js'

interface Listed {
  payments: { id: string; state: string; charge: string | null; route: string | null }[]
  nextCursor: string | null
}

describe.each(stores())("the seller's view, on $name", (store) => {
  const test = store.missing === null ? it : it.skip
  const stand = useStand(store)
  beforeAll(async () => {
    if (store.missing !== null) return
    for (const [index, charge] of ['1000', '0', '3000', '4000', '5000'].entries()) {
      const route = index % 2 === 0 ? 'GET /even' : '=GET /odd, "quoted"'
      const result = await stand.billing.authorize(await sign(makeRequirements()), { route })
      if (result.outcome === 'authorized') await stand.billing.charge(result.payment.id, charge)
    }
  })

  const list = async (query: string) => (await stand.billing.send(`/payments${query}`)).body as Listed

  test('answers 401 to a wrong token', async () => {
    for (const path of ['/payments', '/payments/x', '/payments.csv', '/payments/totals', '/reconciliation']) {
      expect((await stand.billing.send(path, { token: 'wrong' })).status).toBe(401)
    }
  })

  test('accepts BILLING_READ_TOKEN, which is forbidden on /internal', async () => {
    for (const path of ['/payments', '/payments.csv', '/payments/totals', '/accounts', '/reconciliation'])
      expect((await stand.billing.send(path, { token: READ_TOKEN })).status).toBe(200)
    const { id } = (await list('?limit=1')).payments[0]!
    expect((await stand.billing.send(`/payments/${id}`, { token: READ_TOKEN })).status).toBe(200)
    const before = await list('')
    for (const [path, body] of [
      ['payments', {}],
      [`payments/${id}/charge`, {}],
      [`payments/${id}/release`, {}],
      [`payments/${id}`, undefined],
      ['payments', undefined],
      ['tokens/eip155:31337/0x', undefined],
    ] as const)
      expect(await stand.billing.send(`/internal/${path}`, { token: READ_TOKEN, body, key: 'a-key' })).toMatchObject({
        status: 403,
        body: { error: { code: 'forbidden', message: 'this token may only read the seller’s view' } },
      })
    expect(await list('')).toEqual(before)
  })

  test('pages through all payments, newest first, each once', async () => {
    const pages: Listed[] = []
    for (let cursor: string | null = ''; cursor !== null; cursor = pages.at(-1)?.nextCursor ?? null) {
      pages.push(await list(`?limit=2${cursor === '' ? '' : `&cursor=${cursor}`}`))
    }
    expect(pages.map(({ payments }) => payments.length)).toEqual([2, 2, 1])
    expect(pages.flatMap(({ payments }) => payments.map(({ charge }) => charge))).toEqual([
      '5000',
      '4000',
      '3000',
      '0',
      '1000',
    ])
  })

  test('filters by state, route, payer and time', async () => {
    expect((await list('?state=zero')).payments).toHaveLength(1)
    expect((await list('?state=zero,settled')).payments).toHaveLength(5)
    expect((await list(`?route=${encodeURIComponent('GET /even')}`)).payments).toHaveLength(3)
    expect((await list(`?payer=${DEVNET_ROLES.unapprovedBuyer.address}`)).payments).toHaveLength(0)
    expect((await list(`?payer=${DEVNET_ROLES.buyer.address}&from=2020-01-01`)).payments).toHaveLength(5)
    expect((await list('?to=2020-01-01')).payments).toHaveLength(0)
  })

  test.each([
    ['?state=lost', 'state'],
    ['?limit=0', 'limit'],
    ['?limit=x', 'limit'],
    ['?cursor=-1', 'cursor'],
    ['?from=yesterday', 'from'],
    ['?from=2026-W10', 'from'],
    ['?to=2026-01-01T10:00:00,5', 'to'],
    ['?to=0000-01-01', 'to'],
    ['?payer=0x1', 'payer'],
    ['?colour=blue', 'colour'],
  ])('refuses %s and names the field', async (query, field) => {
    const { status, body } = await stand.billing.send(`/payments${query}`)
    expect(status).toBe(400)
    expect(body).toMatchObject({
      error: { code: 'invalid_request', field, message: expect.stringMatching(`^${field}: `) },
    })
  })

  test('shows a payment with its events and transactions, but no signature', async () => {
    const [{ id } = { id: '' }] = (await list('?state=settled')).payments
    const { body } = await stand.billing.send(`/payments/${id}`)
    expect(body).toMatchObject({
      payment: { id, state: 'settled' },
      events: [
        { kind: 'authorized', fromState: null, toState: 'authorized' },
        { kind: 'charged', fromState: 'authorized', toState: 'charging' },
        { kind: 'submitted', fromState: 'charging', toState: 'submitted' },
        { kind: 'settled', fromState: 'submitted', toState: 'settled' },
      ],
      transactions: [{ status: 'mined' }],
    })
    expect(JSON.stringify(body)).not.toMatch(/signature|"raw"/)
    expect((await stand.billing.send('/payments/pay_none')).status).toBe(404)
  })

  test('sums payments by route and day', async () => {
    const { totals } = (await stand.billing.send('/payments/totals')).body as { totals: Record<string, unknown>[] }
    expect(totals).toHaveLength(2)
    expect(totals.find(({ route }) => route === 'GET /even')).toMatchObject({
      payments: 3,
      settledPayments: 3,
      charged: '9000',
      settled: '9000',
      day: new Date().toISOString().slice(0, 10),
    })
  })

  test('exports CSV in which no cell is a formula', async () => {
    const { body, headers } = await stand.billing.send('/payments.csv')
    expect(headers.get('content-type')).toContain('text/csv')
    const lines = String(body).trimEnd().split('\r\n')
    expect(lines).toHaveLength(6)
    expect(lines[0]).toMatch(/^id,state,network,/)
    expect(lines.filter((line) => line.includes(`"'=GET /odd, ""quoted"""`))).toHaveLength(2)
  })

  test('reports no difference if ledger and chain agree', async () => {
    const { body } = await stand.billing.send('/reconciliation')
    expect(body).toEqual({ settledPayments: 4, openPayments: 0, differences: [] })
  })

  test('reports a settlement that another ledger made with the same key', async () => {
    const other = await runBilling(stand.devnet.rpcUrl)
    const { id } = await other.authorizeNew()
    const { payment } = await other.charge(id, '77')
    await other.close()
    const { body } = await stand.billing.send('/reconciliation')
    expect(body).toMatchObject({
      differences: [{ kind: 'not in ledger', transaction: payment.transaction, chainAmount: '77' }],
    })
  })
})
