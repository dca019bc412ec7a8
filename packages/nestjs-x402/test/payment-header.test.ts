import { decodePaymentRequiredHeader } from '@x402/core/http'
import { payingFetch, signPayment } from './app/buyer.js'
import { ScriptedFacilitator } from './app/facilitator.js'
import { statusOf } from './app/raw-request.js'
import { ADAPTERS, paid, runs, type Seller, startSeller } from './app/seller.js'

type Json = { [key: string]: Json } & Record<string, unknown>

describe.each(ADAPTERS)('a PAYMENT-SIGNATURE header on %s', (adapter) => {
  let seller: Seller
  let signed: string
  const facilitator = new ScriptedFacilitator()

  beforeAll(async () => {
    seller = await startSeller(facilitator, { adapter, routes: { 'GET /work': paid() } })
    signed = await signPayment(`${seller.url}/work`)
  })
  afterAll(() => seller.close())
  beforeEach(() => {
    runs.length = 0
  })

  const send = (header: string) => fetch(`${seller.url}/work`, { headers: { 'PAYMENT-SIGNATURE': header } })
  const encode = (payload: unknown) => Buffer.from(JSON.stringify(payload)).toString('base64')
  const changed = (change: (payload: Json) => void) => {
    const payload = JSON.parse(Buffer.from(signed, 'base64').toString()) as Json
    change(payload)
    return encode(payload)
  }
  const authorization = (payload: Json) => payload.payload!.permit2Authorization!

  it.each<[string, string, () => string]>([
    ['no base64', 'PAYMENT-SIGNATURE', () => 'ä!'],
    ['base64 with a tail', 'PAYMENT-SIGNATURE', () => `${signed}!`],
    ['no JSON', 'PAYMENT-SIGNATURE', () => Buffer.from('{').toString('base64')],
    ['no UTF-8', 'PAYMENT-SIGNATURE', () => Buffer.from([0x22, 0xff, 0x22]).toString('base64')],
    ['JSON that is no object', 'payment', () => encode([1])],
    ['null', 'payment', () => encode(null)],
    ['another version', 'x402Version', () => changed((payload) => Object.assign(payload, { x402Version: 1 }))],
    [
      'no authorization',
      'payload.permit2Authorization',
      () => changed((payload) => Object.assign(payload.payload!, { permit2Authorization: undefined })),
    ],
    [
      'a hex amount',
      'permitted.amount',
      () => changed((payload) => Object.assign(authorization(payload).permitted!, { amount: '0x186a0' })),
    ],
    [
      'leading zeros',
      'permitted.amount',
      () => changed((payload) => Object.assign(authorization(payload).permitted!, { amount: '0100000' })),
    ],
    [
      'a number as the amount',
      'permitted.amount',
      () => changed((payload) => Object.assign(authorization(payload).permitted!, { amount: 100000 })),
    ],
    [
      'an exponent',
      'permitted.amount',
      () => changed((payload) => Object.assign(authorization(payload).permitted!, { amount: '1e5' })),
    ],
    ['a negative nonce', 'nonce', () => changed((payload) => Object.assign(authorization(payload), { nonce: '-1' }))],
    [
      'a nonce of 2^256',
      'nonce',
      () => changed((payload) => Object.assign(authorization(payload), { nonce: (1n << 256n).toString() })),
    ],
    ['a short address', 'from', () => changed((payload) => Object.assign(authorization(payload), { from: '0x1' }))],
    [
      'a signature that is no hex',
      'signature',
      () => changed((payload) => Object.assign(payload.payload!, { signature: 'sign' })),
    ],
    [
      'more than 12 KB',
      'PAYMENT-SIGNATURE',
      () => changed((payload) => Object.assign(payload, { extensions: { x: 'y'.repeat(10_000) } })),
    ],
    [
      'deep extensions',
      'payment.extensions',
      () =>
        changed((payload) =>
          Object.assign(payload, { extensions: { x: JSON.parse(`${'['.repeat(3_000)}${']'.repeat(3_000)}`) } }),
        ),
    ],
  ])('with %s is refused, naming the field', async (_what, field, header) => {
    const response = await send(header())
    expect(response.status).toBe(402)
    const required = decodePaymentRequiredHeader(response.headers.get('payment-required')!)
    expect(required.error).toBe('invalid_payload')
    expect(((await response.json()) as { message: string }).message).toContain(field)
    expect(runs).toEqual([])
    expect(facilitator.verified).toEqual([])
  })

  it.each<[string, (accepted: Json) => void]>([
    ['amount', (accepted) => Object.assign(accepted, { amount: '1' })],
    ['asset', (accepted) => Object.assign(accepted, { asset: `0x${'11'.repeat(20)}` })],
    ['payTo', (accepted) => Object.assign(accepted, { payTo: `0x${'11'.repeat(20)}` })],
    ['network', (accepted) => Object.assign(accepted, { network: 'eip155:1' })],
    ['scheme', (accepted) => Object.assign(accepted, { scheme: 'batch-settlement' })],
    ['maxTimeoutSeconds', (accepted) => Object.assign(accepted, { maxTimeoutSeconds: 9 })],
    ['extra', (accepted) => Object.assign(accepted.extra!, { name: 'EURC' })],
  ])('that accepts another %s than offered is refused', async (_field, change) => {
    const response = await send(changed((payload) => change(payload.accepted!)))
    expect(response.status).toBe(402)
    const required = decodePaymentRequiredHeader(response.headers.get('payment-required')!)
    expect(required.error).toBe('no_matching_payment_requirements')
    expect(runs).toEqual([])
  })

  it('with a deadline that could pass while the handler runs is refused', async () => {
    const soon = Math.floor(Date.now() / 1000) + 20
    const response = await send(changed((payload) => Object.assign(authorization(payload), { deadline: String(soon) })))
    const required = decodePaymentRequiredHeader(response.headers.get('payment-required')!)
    expect(required.error).toBe('permit2_deadline_expired')
    expect(facilitator.verified).toEqual([])
  })

  it('with a deadline beyond the offer is refused', async () => {
    const ever = String(2n ** 255n)
    const response = await send(changed((payload) => Object.assign(authorization(payload), { deadline: ever })))
    const required = decodePaymentRequiredHeader(response.headers.get('payment-required')!)
    expect(required.error).toBe('permit2_deadline_too_far')
    expect(facilitator.verified).toEqual([])
  })

  it('that names another signer of the same facilitator is accepted', async () => {
    const other = `0x${'fb'.repeat(20)}`
    const response = await send(
      changed((payload) => Object.assign(payload.accepted!.extra!, { facilitatorAddress: other })),
    )
    expect(response.status).toBe(200)
    expect(facilitator.settled[0]!.extra.facilitatorAddress).toBe(other)
  })

  it('is refused if sent twice (402) or too long for HTTP (431)', async () => {
    const two = [`PAYMENT-SIGNATURE: ${signed}`, `payment-signature: ${signed}`]
    expect(await statusOf(seller.url, 'GET /work', two)).toBe(402)
    expect(await statusOf(seller.url, 'GET /work', [`PAYMENT-SIGNATURE: ${'A'.repeat(20_000)}`])).toBe(431)
    expect(runs).toEqual([])
  })

  it('is read whatever the case of its name', async () => {
    const payment = await signPayment(`${seller.url}/work`)
    expect(await statusOf(seller.url, 'GET /work', [`pAyMeNt-SiGnAtUrE:   ${payment}  `])).toBe(200)
    expect(runs).toHaveLength(1)
  })

  it('pays for a URL of 10,000 characters, which it does not repeat', async () => {
    const response = await payingFetch()(`${seller.url}/work?pad=${'x'.repeat(10_000)}`)
    expect(response.status).toBe(200)
  })
})
