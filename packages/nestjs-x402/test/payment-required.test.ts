import { createHash } from 'node:crypto'
import { decodePaymentRequiredHeader } from '@x402/core/http'
import { declareDiscoveryExtension, validateDiscoveryExtension } from '@x402/extensions/bazaar'
import { signPayment } from './app/buyer.js'
import { NETWORK, ScriptedFacilitator } from './app/facilitator.js'
import { ADAPTERS, PAY_TO, paid, runs, type Seller, startSeller, USDC } from './app/seller.js'

const CHARGE = { unset: 'maximum', failure: 'nothing', timeout: 'nothing', partial: 'maximum', invalid: 'refuse' }

describe.each(ADAPTERS)('an unpaid request on %s', (adapter) => {
  let seller: Seller
  const facilitator = new ScriptedFacilitator()

  beforeAll(async () => {
    seller = await startSeller(facilitator, { adapter, routes: { 'GET /work': paid() } })
  })
  afterAll(() => seller.close())
  beforeEach(() => {
    runs.length = 0
  })

  it('is answered 402 with the offer in the header and in words', async () => {
    const response = await fetch(`${seller.url}/work?charge=1`)
    expect(response.status).toBe(402)
    expect(response.headers.get('cache-control')).toBe('no-store')
    const required = decodePaymentRequiredHeader(response.headers.get('payment-required')!)
    expect(required).toEqual({
      x402Version: 2,
      error: 'payment_required',
      resource: { url: `${seller.url}/work?charge=1`, description: 'Metered work', mimeType: 'application/json' },
      accepts: [
        {
          scheme: 'upto',
          network: NETWORK,
          amount: '100000',
          asset: USDC,
          payTo: PAY_TO,
          maxTimeoutSeconds: 300,
          extra: expect.objectContaining({ name: 'USDC', version: '2', assetTransferMethod: 'permit2' }),
        },
      ],
      extensions: {
        'charge-terms': { info: { charge: CHARGE, answerSeconds: 300 }, schema: expect.anything() },
        'payment-identifier': { info: { required: false }, schema: expect.anything() },
      },
    })
    const body = (await response.json()) as { message: string; accepts: unknown; charge: unknown }
    expect(body.message).toContain(`up to $0.1 on ${NETWORK} to ${PAY_TO}`)
    expect(body.accepts).toEqual(required.accepts)
    expect(body.message).toContain('If you disconnect before the answer is complete, you pay the maximum.')
    expect(body.message).toContain(
      "If the seller sets an amount that can't be charged, you pay nothing, and you get no answer.",
    )
    expect(body.charge).toEqual(CHARGE)
    expect(runs).toEqual([])
  })

  it('is answered with the bazaar extension, which the facilitator gets instead of what the buyer sends', async () => {
    const extensions = declareDiscoveryExtension({ output: { example: { celsius: 21 } } })
    const routes = { 'GET /work/items/:id': paid({ extensions }) }
    const listed = await startSeller(facilitator, { adapter, routes })
    const url = `${listed.url}/work/items/basel`
    const response = await fetch(url)
    const required = decodePaymentRequiredHeader(response.headers.get('payment-required')!)
    const bazaar = required.extensions?.bazaar as { info: object; routeTemplate: string }
    expect(bazaar).toMatchObject({
      info: { input: { type: 'http', method: 'GET' }, output: { example: { celsius: 21 } } },
      routeTemplate: '/work/items/:id',
    })
    expect(validateDiscoveryExtension(bazaar as never)).toEqual({ valid: true })
    const payload = JSON.parse(Buffer.from(await signPayment(url), 'base64').toString())
    payload.resource.url = 'https://bank.example'
    payload.extensions.bazaar.info.input.queryParams = { key: 'send me yours' }
    const payment = Buffer.from(JSON.stringify(payload)).toString('base64')
    await fetch(url, { headers: { 'PAYMENT-SIGNATURE': payment } })
    const told = facilitator.verified.at(-1)
    expect(told?.resource).toMatchObject({ url, description: 'Metered work' })
    expect(told?.extensions?.bazaar).toEqual(bazaar)
    await listed.close()
  })

  it('is offered the full price list with its hash', async () => {
    const priceList = { version: '7', perPage: '$0.001', base: '$0' }
    const listed = await startSeller(facilitator, { adapter, routes: { 'GET /work': paid({ priceList }) } })
    const response = await fetch(`${listed.url}/work`)
    const { extensions } = decodePaymentRequiredHeader(response.headers.get('payment-required')!)
    const hash = createHash('sha256').update('{"base":"$0","perPage":"$0.001","version":"7"}').digest('hex')
    expect(extensions?.['charge-terms']).toMatchObject({ info: { priceList, priceListHash: `0x${hash}` } })
    expect(await response.json()).toMatchObject({ priceList, priceListHash: `0x${hash}` })
    await listed.close()
  })

  it('is offered only the extensions in ownExtensions, and priceListHash in extra without charge-terms', async () => {
    const priceList = { version: '7', base: '$0' }
    const extensionsOf = async (options: object) => {
      const listed = await startSeller(facilitator, {
        adapter,
        routes: { 'GET /work': paid({ priceList, ...options }) },
      })
      const url = `${listed.url}/work?charge=1`
      const response = await fetch(url)
      const required = decodePaymentRequiredHeader(response.headers.get('payment-required')!)
      const hash = createHash('sha256').update('{"base":"$0","version":"7"}').digest('hex')
      expect(await response.json()).toMatchObject({ charge: CHARGE, priceList, priceListHash: `0x${hash}` })
      const bought = await fetch(url, { headers: { 'PAYMENT-SIGNATURE': await signPayment(url) } })
      expect(bought.status).toBe(200)
      await listed.close()
      return { extensions: required.extensions, named: required.accepts[0]?.extra.priceListHash === `0x${hash}` }
    }
    const identifier = { 'payment-identifier': expect.anything() }
    expect(await extensionsOf({ ownExtensions: [] })).toEqual({ extensions: undefined, named: true })
    expect(await extensionsOf({ ownExtensions: ['payment-identifier'] })).toEqual({
      extensions: identifier,
      named: true,
    })
    const mine = { info: {}, schema: {} }
    expect(await extensionsOf({ ownExtensions: [], extensions: { mine } })).toEqual({
      extensions: { mine },
      named: true,
    })
    expect(await extensionsOf({ ownExtensions: ['charge-terms'] })).toEqual({
      extensions: { 'charge-terms': expect.anything() },
      named: false,
    })
  })

  it('is offered eip2612GasSponsoring for its token, but not erc20ApprovalGasSponsoring', async () => {
    const sponsoring = new ScriptedFacilitator()
    const { kinds, ...rest } = await sponsoring.getSupported()
    const gasSponsoring = { [USDC.toLowerCase()]: 'eip2612GasSponsoring' }
    const extensions = ['eip2612GasSponsoring', 'erc20ApprovalGasSponsoring']
    sponsoring.supported = async () => ({
      ...rest,
      kinds: kinds.map((kind) => ({ ...kind, extra: { ...kind.extra, gasSponsoring } })),
      extensions,
    })
    const other = await startSeller(sponsoring, { adapter, routes: { 'GET /work': paid() } })
    const response = await fetch(`${other.url}/work`)
    const offer = decodePaymentRequiredHeader(response.headers.get('payment-required') ?? '')
    expect(offer.extensions).toMatchObject({
      eip2612GasSponsoring: {
        info: { version: '1' },
        schema: { required: expect.arrayContaining(['signature']) },
      },
    })
    expect(offer.extensions).not.toHaveProperty('erc20ApprovalGasSponsoring')
    expect(offer.accepts[0]?.extra).not.toHaveProperty('gasSponsoring')
    await other.close()
  })

  it('is answered in escaped HTML to a browser', async () => {
    const response = await fetch(`${seller.url}/work?q=<script>`, {
      headers: { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' },
    })
    expect(response.status).toBe(402)
    expect(response.headers.get('content-type')).toContain('text/html')
    expect(response.headers.get('payment-required')).not.toBeNull()
    const page = await response.text()
    expect(page).toContain('up to $0.1')
    expect(page).toContain('<li>If it fails, you pay nothing.</li>')
    expect(page).not.toContain('<script>')
  })

  it('is answered with CORS headers, so that a browser can read the offer', async () => {
    const open = await startSeller(facilitator, {
      adapter,
      routes: { 'GET /work': paid() },
      prepare: (app) => app.enableCors({ origin: '*', exposedHeaders: ['PAYMENT-REQUIRED'] }),
    })
    const response = await fetch(`${open.url}/work`, { headers: { origin: 'https://dapp.example' } })
    expect(response.status).toBe(402)
    expect(response.headers.get('access-control-allow-origin')).toBe('*')
    await open.close()
  })

  it('is served on a free route', async () => {
    expect(await (await fetch(`${seller.url}/work/free`)).json()).toEqual({ free: true })
  })

  it('is answered 503 with Retry-After if the facilitator is down', async () => {
    const down = new ScriptedFacilitator()
    down.supported = () => Promise.reject(Object.assign(new Error('ECONNREFUSED'), { retryAfterSeconds: 7 }))
    const other = await startSeller(down, { adapter, routes: { 'GET /work': paid() } })
    const response = await fetch(`${other.url}/work`)
    expect(response.status).toBe(503)
    expect(response.headers.get('retry-after')).toBe('7')
    expect(await response.text()).not.toContain('ECONNREFUSED')
    await other.close()
  })

  it('is answered 503 if verification is unavailable, and nothing runs', async () => {
    const payment = await signPayment(`${seller.url}/work`)
    facilitator.onVerify = () => Promise.reject(new Error('internal text'))
    const response = await fetch(`${seller.url}/work`, { headers: { 'PAYMENT-SIGNATURE': payment } })
    facilitator.onVerify = async () => ({ isValid: true })
    expect(response.status).toBe(503)
    expect(Number(response.headers.get('retry-after'))).toBeGreaterThan(0)
    expect(await response.text()).not.toContain('internal text')
    expect(runs).toEqual([])
  })

  it('is answered without any text of the facilitator', async () => {
    facilitator.onVerify = async () => ({
      isValid: false,
      invalidReason: 'ContractFunctionExecutionError: 0xdead at https://rpc.example/key',
      invalidMessage: 'secret',
    })
    const payment = await signPayment(`${seller.url}/work`)
    const response = await fetch(`${seller.url}/work`, { headers: { 'PAYMENT-SIGNATURE': payment } })
    facilitator.onVerify = async () => ({ isValid: true })
    expect(response.status).toBe(402)
    const required = decodePaymentRequiredHeader(response.headers.get('payment-required')!)
    expect(required.error).toBe('payment_invalid')
    expect(JSON.stringify([...response.headers]) + (await response.text())).not.toMatch(/rpc\.example|secret/)
  })

  it('is answered 412 if only the Permit2 approval is missing', async () => {
    facilitator.onVerify = async () => ({ isValid: false, invalidReason: 'permit2_allowance_required' })
    const payment = await signPayment(`${seller.url}/work`)
    const response = await fetch(`${seller.url}/work`, { headers: { 'PAYMENT-SIGNATURE': payment } })
    facilitator.onVerify = async () => ({ isValid: true })
    expect(response.status).toBe(412)
    const spender = '0x000000000022D473030F116dDEE9F6B43aC78BA3'
    const body = (await response.json()) as { message: string; approve: unknown }
    expect(body.message).toContain(`approve(${spender}`)
    expect(body.approve).toEqual([{ token: USDC, spender }])
  })
})
