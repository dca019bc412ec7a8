import { createLogger } from '@upfront/service'
import { HTTPFacilitatorClient } from '@x402/core/server'
import type { PaymentPayload } from '@x402/core/types'
import { declareDiscoveryExtension, withBazaar } from '@x402/extensions/bazaar'
import { openLedger } from '../src/ledger/ledger.js'
import { makeSeller, retireSeller } from '../src/sellers/seller-accounts.js'
import { makeRequirements, SELLER, sign } from './support/buyer.js'
import { useStand } from './support/stand.js'
import { oneStore } from './support/stores.js'
import { until } from './support/until.js'

const ORIGIN = 'https://api.example.com'
const declared = declareDiscoveryExtension({
  method: 'GET',
  input: { city: 'Basel' },
  inputSchema: { properties: { city: { type: 'string', pattern: '^[A-Z]' } }, required: ['city'] },
  output: { example: { celsius: 21 } },
} as never)

type Item = Record<string, unknown> & { resource: string; accepts: { scheme: string; payTo: string }[] }

describe.each(oneStore())('GET /discovery/resources, on $name', (store) => {
  const test = store.missing === null ? it : it.skip
  const tokens = { listed: '', out: '' }
  const prepare = async ({ BILLING_DATA_DIR = '', ...variables }: Record<string, string>) => {
    const ledger = await openLedger({ BILLING_DATA_DIR, ...variables }, createLogger({ level: 'silent' }))
    const terms = { recipients: [SELLER], minimum: 1n, perMinute: 1_000, dailyGas: null }
    tokens.listed = (await makeSeller(ledger.db, { ...terms, name: 'listed', origins: [ORIGIN] })).token
    tokens.out = (await makeSeller(ledger.db, { ...terms, name: 'stays out' })).token
    const gone = await makeSeller(ledger.db, { ...terms, name: 'gone', origins: ['https://gone.example'] })
    await retireSeller(ledger.db, gone.account.id)
    await ledger.onApplicationShutdown()
  }
  const stand = useStand(store, { prepare })

  const items = async (query = '') =>
    ((await stand.billing.send(`/discovery/resources${query}`, { token: '' })).body as { items: Item[] }).items
  const resources = async () => (await items('?limit=100')).map(({ resource }) => resource)

  /** A payload as the official client builds it from a stock server's offer. */
  async function payload(
    url: string,
    bazaar: unknown = declared.bazaar,
    requirements = makeRequirements({ scheme: 'exact', maximum: '7' }),
  ): Promise<PaymentPayload> {
    const resource = { url, description: 'The weather\u0000 now', mimeType: 'application/json', serviceName: 'Weather' }
    return { ...(await sign(requirements)), resource, extensions: { bazaar } } as PaymentPayload
  }
  const settle = async (of: PaymentPayload, token: string) => {
    const body = { x402Version: 2, paymentPayload: of, paymentRequirements: of.accepted }
    expect((await stand.billing.send('/settle', { body, token })).body).toMatchObject({ success: true })
  }
  /** Pays for each, then for a last one that must be listed: the earlier ones are processed by then. */
  async function settleAll(payloads: PaymentPayload[], token: string): Promise<void> {
    for (const one of payloads) await settle(one, token)
    const last = `${ORIGIN}/last/${payloads.length}/${Date.now()}`
    await settle(await payload(last), tokens.listed)
    await until(async () => (await resources()).includes(last))
  }

  test('lists a resource paid for at an origin of the seller, readable by the official bazaar client', async () => {
    await settle(await payload(`${ORIGIN}/weather?city=Basel`), tokens.listed)
    await until(async () => (await resources()).length > 0)
    const client = withBazaar(new HTTPFacilitatorClient({ url: `${stand.billing.url}/s/${tokens.listed}` }))
    const listed = await client.extensions.bazaar.listResources({ type: 'http', limit: 10 })
    expect(listed).toMatchObject({ x402Version: 2, pagination: { limit: 10, offset: 0, total: 1 } })
    expect(listed.items[0]).toMatchObject({
      resource: `${ORIGIN}/weather`,
      type: 'http',
      x402Version: 2,
      description: 'The weather  now',
      mimeType: 'application/json',
      serviceName: 'Weather',
      accepts: [{ scheme: 'exact', amount: '7', payTo: SELLER.toLowerCase() }],
      extensions: { bazaar: { info: { input: { method: 'GET', queryParams: { city: 'Basel' } } } } },
    })
    expect(Date.parse(String(listed.items[0]?.lastUpdated))).toBeGreaterThan(0)
  })

  test('merges the offers of a resource, and lists a path with parameters as its template', async () => {
    const dynamic = { ...declared.bazaar, routeTemplate: '/cities/:city' }
    await settle(await payload(`${ORIGIN}/cities/Basel`, dynamic), tokens.listed)
    await settle(await payload(`${ORIGIN}/cities/Bern`, dynamic, makeRequirements()), tokens.listed)
    const template = `${ORIGIN}/cities/:city`
    const found = await until(
      async () => (await items()).find(({ resource }) => resource === template),
      (item) => item?.accepts.length === 2,
    )
    expect(found?.accepts.map(({ scheme }) => scheme).sort()).toEqual(['exact', 'upto'])
    expect(await resources()).not.toContain(`${ORIGIN}/cities/Basel`)
  })

  test('reports the result of the listing to the seller in EXTENSION-RESPONSES', async () => {
    const settleBy = async (of: PaymentPayload, token: string) => {
      const client = new HTTPFacilitatorClient({ url: `${stand.billing.url}/s/${token}` })
      const { success, extensionResponses } = await client.settle(of, of.accepted)
      expect(success).toBe(true)
      return extensionResponses
    }
    const rejected = (rejectedReason: unknown) => ({ bazaar: { status: 'rejected', rejectedReason } })
    expect(await settleBy(await payload(`${ORIGIN}/told`), tokens.listed)).toEqual({ bazaar: { status: 'success' } })
    expect(await resources()).toContain(`${ORIGIN}/told`)
    expect(await settleBy(await payload(`${ORIGIN}/told`), tokens.listed)).toEqual({ bazaar: { status: 'success' } })
    const foreign = rejected('resource.url: is not at an origin registered for this account')
    expect(await settleBy(await payload('https://bank.example/login'), tokens.listed)).toEqual(foreign)
    expect(await settleBy(await payload(`${ORIGIN}/told`), tokens.out)).toEqual(foreign)
    const misfit = structuredClone(declared.bazaar) as { info: { input: Record<string, unknown> } }
    misfit.info.input.queryParams = { city: 7 }
    const told = await settleBy(await payload(`${ORIGIN}/misfit`, misfit), tokens.listed)
    expect(told).toEqual(rejected(expect.stringContaining('must be string')))
    const silent = { ...(await payload(`${ORIGIN}/silent`)), extensions: {} } as PaymentPayload
    expect(await settleBy(silent, tokens.listed)).toBeUndefined()
  })

  test('lists each tool of an MCP server by name, at the URL of the server', async () => {
    const tool = (toolName: string) =>
      declareDiscoveryExtension({ toolName, inputSchema: { type: 'object', properties: { city: { type: 'string' } } } })
    const server = `${ORIGIN}/mcp`
    for (const name of ['forecast', 'archive']) await settle(await payload(server, tool(name).bazaar), tokens.listed)
    await settleAll([await payload('mcp://tool/forecast', tool('forecast').bazaar)], tokens.listed)
    const listed = (await items('?type=mcp')) as unknown as {
      resource: string
      extensions: { bazaar: { info: object } }
    }[]
    expect(listed.map(({ resource, extensions }) => [resource, extensions.bazaar.info])).toEqual(
      ['archive', 'forecast'].map((toolName) => [
        server,
        { input: expect.objectContaining({ type: 'mcp', toolName, inputSchema: expect.anything() }) },
      ]),
    )
  })

  test('lists a resource authorized over /internal/payments only if the call names its route', async () => {
    const own = await payload('http://127.0.0.1:8080/v1/preview')
    expect((await stand.billing.authorize(own, { route: 'GET /v1/preview' })).outcome).toBe('authorized')
    await until(async () => (await resources()).includes('http://127.0.0.1:8080/v1/preview'))
    // Without a route the resource is only what the buyer claims.
    await stand.billing.authorize(await payload('http://127.0.0.1:8080/v1/other'))
    await settleAll([], tokens.listed)
    expect(await resources()).not.toContain('http://127.0.0.1:8080/v1/other')
  })

  test('omits sellers without origins, foreign origins, resources of others and schema mismatches', async () => {
    const before = (await resources()).length
    const misfit = structuredClone(declared.bazaar) as { info: { input: Record<string, unknown> } }
    misfit.info.input.queryParams = { city: 7 }
    await settleAll([await payload(`${ORIGIN}/out`)], tokens.out)
    await settleAll(
      [
        await payload('https://bank.example/login'),
        await payload(`https://user:secret@api.example.com/x`),
        await payload('javascript:alert(1)'),
        await payload(`${ORIGIN}/misfit`, misfit),
        await payload('http://127.0.0.1:8080/v1/preview'),
        { ...(await payload(ORIGIN)), extensions: {} } as PaymentPayload,
      ],
      tokens.listed,
    )
    const listed = await resources()
    expect(listed).toHaveLength(before + 2)
    expect(listed.filter((one) => !one.startsWith(ORIGIN))).toEqual(['http://127.0.0.1:8080/v1/preview'])
  })

  test('omits oversized, deep or recursive declarations, and never runs their regular expressions', async () => {
    const { info, schema } = declared.bazaar as unknown as { info: object; schema: { properties: object } }
    let deep: object = {}
    for (let level = 0; level < 500; level += 1) deep = { allOf: [deep] }
    const evil = (properties: object) => ({ info, schema: { ...schema, ...properties } })
    const before = (await resources()).length
    await settleAll(
      [
        await payload(`${ORIGIN}/long`, { info: { ...info, more: 'x'.repeat(20_000) }, schema }),
        await payload(`${ORIGIN}/deep`, evil(deep)),
        await payload(`${ORIGIN}/reference`, evil({ allOf: [{ $ref: '#' }] })),
        await payload(`${ORIGIN}/half`, { info: { ...info, half: '\ud800' }, schema }),
        await payload(`${ORIGIN}/list`, []),
        await payload(`${ORIGIN}/number`, { info: 7, schema: 7 }),
      ],
      tokens.listed,
    )
    expect(await resources()).toHaveLength(before + 1)
    // The pattern is never run.
    const endless = {
      info: { ...info, word: `${'a'.repeat(40)}!` },
      schema: { properties: { word: { pattern: '^(a+)+$' } } },
    }
    await settleAll([await payload(`${ORIGIN}/endless`, endless)], tokens.listed)
    expect(await resources()).toContain(`${ORIGIN}/endless`)
  })

  test('paginates and filters, and answers 400 with the name of an invalid query field', async () => {
    const all = await resources()
    const first = await stand.billing.send('/discovery/resources?limit=2', { token: '' })
    expect(first.body).toMatchObject({ pagination: { limit: 2, offset: 0, total: all.length } })
    const whole = await stand.billing.send('/discovery/resources?limit=1000', { token: '' })
    expect(whole.body).toMatchObject({ pagination: { limit: 100, offset: 0, total: all.length } })
    const pages = [await items('?limit=2'), await items('?limit=2&offset=2')].flat().map(({ resource }) => resource)
    expect(pages).toEqual(all.slice(0, 4))
    expect(await items(`?offset=${all.length}`)).toEqual([])
    expect((await items('?scheme=upto')).map(({ resource }) => resource)).toEqual([`${ORIGIN}/cities/:city`])
    expect(await items(`?payTo=${SELLER}&network=eip155:31337&limit=100`)).toHaveLength(all.length)
    expect(await items('?network=eip155:1')).toEqual([])
    expect((await items('?type=mcp&limit=100')).every(({ type }) => type === 'mcp')).toBe(true)
    expect(await items('?extensions=bazaar&limit=100')).toHaveLength(all.length)
    expect(await items('?extensions=other')).toEqual([])
    for (const [query, field] of [
      ['limit=0', 'limit'],
      ['limit=1000000000000', 'limit'],
      ['limit=1e1', 'limit'],
      ['offset=-1', 'offset'],
      ['type=ftp', 'type'],
      ['payTo=me', 'payTo'],
      ['scheme=free', 'scheme'],
      ['network=base', 'network'],
      ['metadata=x', 'metadata'],
    ] as const) {
      const refused = await stand.billing.send(`/discovery/resources?${query}`, { token: '' })
      expect(refused).toMatchObject({ status: 400, body: { error: { code: 'invalid_request', field } } })
    }
  })
})
