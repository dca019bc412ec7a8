import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import { text } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import { urlToHttpOptions } from 'node:url'
import type { SignedReceipt } from '@upfront/receipt'
import { x402Client, x402HTTPClient } from '@x402/core/client'
import { decodePaymentRequiredHeader, decodePaymentResponseHeader } from '@x402/core/http'
import { UptoEvmScheme } from '@x402/evm/upto/client'
import {
  createSIWxPayload,
  encodeSIWxHeader,
  type SIWxExtensionInfo,
  type SupportedChain,
  wrapFetchWithSIWx,
} from '@x402/extensions/sign-in-with-x'
import { createTestClient, http, numberToHex } from 'viem'
import { type PrivateKeyAccount, privateKeyToAccount } from 'viem/accounts'
import { assemble } from './assemble.js'
import { type GenesisUpstream, startGenesisUpstream } from './genesis-upstream.js'
import { type PaidStand, receiptKeysFile, startPaidStand } from './paid-stand.js'

/** Base's factory of B20 tokens, a native precompile of its nodes. */
const B20_FACTORY = '0xb20f000000000000000000000000000000000000'

let upstream: GenesisUpstream
let stand: PaidStand
let buyer: PrivateKeyAccount

beforeAll(async () => {
  // Simulations run on Base after Denim; payments are on the local chain.
  upstream = await startGenesisUpstream({
    chainId: 8_453,
    head: {
      number: numberToHex(53_556_127),
      timestamp: numberToHex(1_793_901_601),
      miner: '0x4200000000000000000000000000000000000011',
      extraData: '0x01000000fa0000000600000000000f4240',
    },
  })
  stand = await startPaidStand({
    RECEIPT_KEYS_FILE: receiptKeysFile(`0x${'42'.repeat(32)}`),
    UPSTREAM_RPC_URL: upstream.url,
    EVM_ENGINE: 'native',
    HEAD_MAX_AGE_SECONDS: 'off',
  })
  buyer = privateKeyToAccount(stand.devnet.accounts.buyer.privateKey)
}, 120_000)
afterAll(async () => {
  await stand?.stop()
  upstream?.close()
})

interface Paid {
  receipt: SignedReceipt
  charge: { amount: string }
}

interface PaymentStatus {
  payment: Record<string, string | null>
  receipts: SignedReceipt[]
}

interface Challenge {
  error: { data: { 'sign-in-with-x': { info: SIWxExtensionInfo; supportedChains: [SupportedChain] } } }
}

/** Signs a payment for a request. @returns its headers */
async function authorize(
  path: string,
  init: RequestInit,
  gateway = stand.gateway.url,
): Promise<{ nonce: string; headers: Record<string, string> }> {
  const url = gateway + path
  const offer = (await fetch(url, init)).headers.get('payment-required') ?? ''
  const client = new x402Client()
    .register('eip155:31337', new UptoEvmScheme(buyer))
    .setSpendControls({ allowedAssets: true })
  const payment = await client.createPaymentPayload(decodePaymentRequiredHeader(offer))
  const signature = new x402HTTPClient(client).encodePaymentSignatureHeader(payment)
  const headers = { ...(init.headers as Record<string, string>), ...signature }
  const { nonce } = (payment.payload as { permit2Authorization: { nonce: string } }).permit2Authorization
  return { nonce, headers }
}

/** Sends a request with a payment authorization. @returns the nonce too */
async function ask402(
  path: string,
  init: RequestInit = {},
  gateway = stand.gateway.url,
): Promise<{ response: Response; nonce: string; headers: Record<string, string> }> {
  const { nonce, headers } = await authorize(path, init, gateway)
  return { response: await fetch(gateway + path, { ...init, headers }), nonce, headers }
}

/** Pays for a preview. */
async function pay(): Promise<{ nonce: string; receipt: SignedReceipt; amount: string }> {
  const { response, nonce } = await ask402(`/v1/preview?to=${buyer.address}`)
  const { receipt, charge } = (await response.json()) as Paid
  return { nonce, receipt, amount: charge.amount }
}

const urlOf = (nonce: string) => `${stand.gateway.url}/v1/payments/${nonce}`

async function signInHeader(url: string, account = buyer): Promise<string> {
  const { error } = (await (await fetch(url)).json()) as Challenge
  const { info, supportedChains } = error.data['sign-in-with-x']
  return encodeSIWxHeader(await createSIWxPayload({ ...info, ...supportedChains[0] }, account, url))
}

const ask = (url: string, header: string) => fetch(url, { headers: { 'sign-in-with-x': header } })

it("GET /v1/payments/:nonce returns the payment's state and receipts to its payer", async () => {
  const { nonce, receipt, amount } = await pay()
  expect(receipt.signature).toMatch(/^0x/)
  const response = await ask(urlOf(nonce), await signInHeader(urlOf(nonce)))
  expect([response.status, response.headers.get('cache-control')]).toEqual([200, 'no-store'])
  expect(await response.json()).toMatchObject({
    payment: {
      state: expect.stringMatching(/^(submitted|settled)$/),
      payer: buyer.address.toLowerCase(),
      nonce,
      charge: amount,
      transaction: expect.stringMatching(/^0x[0-9a-f]{64}$/),
    },
    receipts: [receipt],
  })
})

it('GET /v1/payments/:nonce returns no receipt of calls that were metered for a buyer who left and paid the base price', async () => {
  const endless = `0x${'c0'.repeat(20)}`
  const stateOverrides = { [endless]: { code: assemble('@again >again JUMP') } }
  const params = [{ blockStateCalls: [{ stateOverrides, calls: [{ to: endless, gas: '0x2faf080' }] }] }, 'latest']
  const batch = Array.from({ length: 20 }, (_, id) => ({ jsonrpc: '2.0', id, method: 'eth_simulateV1', params }))
  const simulated = () => stand.gateway.metric('upfront_simulated_blocks_total')
  const leave = async () => {
    const before = await simulated()
    const control = new AbortController()
    const posted = { method: 'POST', headers: { 'content-type': 'application/json' } }
    const { headers, nonce } = await authorize('/v1/simulate', posted)
    const init = { ...posted, headers, body: JSON.stringify(batch), signal: control.signal }
    const answered = fetch(`${stand.gateway.url}/v1/simulate`, init).then(
      ({ status }) => status,
      () => undefined,
    )
    while ((await simulated()) < before + 3) await sleep(5)
    control.abort()
    return { nonce, answered: await answered }
  }
  let left = await leave()
  // On a busy machine the answer may come first.
  while (left.answered === 200) left = await leave()
  const status = async () => (await ask(urlOf(left.nonce), await signInHeader(urlOf(left.nonce)))).json()
  let found = (await status()) as PaymentStatus
  while (found.payment.state !== 'settled') {
    await sleep(50)
    found = (await status()) as PaymentStatus
  }
  expect(found).toMatchObject({ payment: { charge: '1000', reason: 'partial' }, receipts: [] })
}, 60_000)

describe("a paid request that reaches Base's native precompiles", () => {
  const simulate = (calls: object[][]) => {
    const body = calls.map((each, id) => {
      return { jsonrpc: '2.0', id, method: 'eth_simulateV1', params: [{ blockStateCalls: [{ calls: each }] }] }
    })
    const headers = { 'content-type': 'application/json' }
    return ask402('/v1/simulate', { method: 'POST', headers, body: JSON.stringify(body.length > 1 ? body : body[0]) })
  }
  const reaching = [{ to: B20_FACTORY, input: '0x12345678' }]
  const refused = {
    error: {
      code: -32000,
      message: `blockStateCalls[0].calls[0]: ${B20_FACTORY} is a native precompile of this chain (B20), which is not simulated`,
    },
  }
  const charged = (response: Response) =>
    decodePaymentResponseHeader(response.headers.get('payment-response') ?? '').amount

  it.each([
    ['POST /v1/simulate', 'zero', () => simulate([reaching])],
    ['GET /v1/preview', 'released', () => ask402(`/v1/preview?to=${B20_FACTORY}&data=0x12345678`)],
  ])('is rejected with the address at %s, counted and not charged', async (_, state, request) => {
    const counted = () => stand.gateway.metric('upfront_native_precompile_rejections_total')
    const [before, had] = [await counted(), await stand.usdcOf(buyer.address)]
    const { response, nonce } = await request()
    expect(await response.json()).toMatchObject(refused)
    expect(charged(response)).toBe('0')
    const payment = await ask(urlOf(nonce), await signInHeader(urlOf(nonce)))
    // No transaction was sent to settle the authorization.
    expect(await payment.json()).toMatchObject({ payment: { state, transaction: null } })
    expect(await stand.usdcOf(buyer.address)).toBe(had)
    expect(await counted()).toBe(before + 1)
  })

  it('adds nothing to the charge for the rest of its batch', async () => {
    const { response } = await simulate([[{ to: buyer.address }], reaching])
    const [served, rejected] = (await response.json()) as [Paid, object]
    expect(rejected).toMatchObject(refused)
    expect(rejected).not.toHaveProperty('charge')
    expect(charged(response)).toBe(served.charge.amount)
  })
})

it('returns a withheld answer from another replica once it is settled, even if the first is gone', async () => {
  const settings = { UPSTREAM_RPC_URL: upstream.url, EVM_ENGINE: 'native', HEAD_MAX_AGE_SECONDS: 'off' }
  const replica = await stand.startGateway(settings)
  const anvil = createTestClient({ mode: 'anvil', transport: http(stand.devnet.rpcUrl) })
  await anvil.setAutomine(false)
  try {
    const path = `/v1/preview?to=${buyer.address}`
    const { response, headers } = await ask402(path, {}, replica.url)
    expect([response.status, await response.json()]).toMatchObject([402, { error: 'settlement_pending' }])
    await replica.stop()
    await anvil.setAutomine(true)
    await anvil.mine({ blocks: 1 })
    let answer = await fetch(stand.gateway.url + path, { headers })
    // On a busy machine the payment may not be sent or settled yet when the answer is due.
    while (
      answer.status === 402 &&
      ((await answer.clone().json()) as { error?: string }).error === 'settlement_pending'
    )
      answer = await fetch(stand.gateway.url + path, { headers })
    expect([answer.status, await answer.json()]).toMatchObject([200, { status: 'success', charge: expect.anything() }])
    expect(decodePaymentResponseHeader(answer.headers.get('payment-response') ?? '')).toMatchObject({ success: true })
  } finally {
    await anvil.setAutomine(true)
    await replica.stop()
  }
}, 120_000)

it('GET /v1/payments/:nonce returns a payment to nobody but its payer', async () => {
  const { nonce } = await pay()
  const url = urlOf(nonce)
  const stranger = privateKeyToAccount(stand.devnet.accounts.unapprovedBuyer.privateKey)
  expect((await ask(url, await signInHeader(url, stranger))).status).toBe(404)

  const own = await signInHeader(url)
  const proof = JSON.parse(Buffer.from(own, 'base64').toString())
  const forged = (change: Record<string, unknown>) =>
    Buffer.from(JSON.stringify({ ...proof, ...change })).toString('base64')
  const tries = [
    await signInHeader(urlOf('1')),
    forged({ address: stranger.address }),
    forged({ domain: 'example.org' }),
    forged({ chainId: 'eip155:1' }),
    forged({ issuedAt: new Date(Date.now() - 600_000).toISOString() }),
    forged({ nonce: 'no' }),
    forged({ signature: '0x' }),
    'no base64!',
    Buffer.from('{}').toString('base64'),
  ]
  for (const header of tries) expect((await ask(url, header)).status).toBe(402)
  expect((await ask(url, own)).status).toBe(200)
  // A signed message is valid once, however its address is spelled.
  for (const header of [own, forged({ address: proof.address.toLowerCase() })])
    expect((await ask(url, header)).status).toBe(402)
})

it('accepts no message for a site that the Host header names if it does not know its own URL', async () => {
  const { nonce } = await pay()
  const { error } = (await (await fetch(urlOf(nonce))).json()) as Challenge
  const { info, supportedChains } = error.data['sign-in-with-x']
  const uri = `http://other.example/v1/payments/${nonce}`
  const signed = await createSIWxPayload({ ...info, ...supportedChains[0], domain: 'other.example', uri }, buyer, uri)
  const headers = { host: 'other.example', 'sign-in-with-x': encodeSIWxHeader(signed) }
  const asked = request({ ...urlToHttpOptions(new URL(urlOf(nonce))), headers }).end()
  const [response] = (await once(asked, 'response')) as [IncomingMessage]
  expect([response.statusCode, await text(response)]).toEqual([501, expect.stringContaining('PUBLIC_URL')])
})

it('rejects a message signed for another site, even if the Host header names that site', async () => {
  const { nonce } = await pay()
  const settings = { UPSTREAM_RPC_URL: upstream.url, EVM_ENGINE: 'native', HEAD_MAX_AGE_SECONDS: 'off' }
  const replica = await stand.startGateway({ ...settings, PUBLIC_URL: 'https://sim.example' })
  try {
    const { error } = (await (await fetch(`${replica.url}/v1/payments/${nonce}`)).json()) as Challenge
    const { info, supportedChains } = error.data['sign-in-with-x']
    expect(info).toMatchObject({ domain: 'sim.example', uri: `https://sim.example/v1/payments/${nonce}` })
    const uri = `http://other.example/v1/payments/${nonce}`
    const signed = await createSIWxPayload({ ...info, ...supportedChains[0], domain: 'other.example', uri }, buyer, uri)
    const headers = { host: 'other.example', 'sign-in-with-x': encodeSIWxHeader(signed) }
    for (const path of [uri, `/v1/payments/${nonce}`]) {
      const asked = request({ ...urlToHttpOptions(new URL(replica.url)), path, headers }).end()
      const [response] = (await once(asked, 'response')) as [IncomingMessage]
      response.resume()
      expect([path, response.statusCode]).toEqual([path, 402])
    }
  } finally {
    await replica.stop()
  }
}, 120_000)

it("GET /v1/payments/:nonce works with x402's own client, which signs in automatically", async () => {
  const { nonce, amount } = await pay()
  const answer = await wrapFetchWithSIWx(fetch, buyer)(urlOf(nonce))
  expect([answer.status, await answer.json()]).toMatchObject([200, { payment: { nonce, charge: amount } }])
})

it.each(['', 'pay_1', '-1', '01', '9'.repeat(78)])('rejects the nonce %j', async (nonce) => {
  expect([400, 404]).toContain((await fetch(urlOf(nonce))).status)
})

it('answers 400 to a malformed Host header', async () => {
  const options = { ...urlToHttpOptions(new URL(urlOf('1'))), headers: { host: '[' } }
  const [response] = (await once(request(options).end(), 'response')) as [IncomingMessage]
  response.resume()
  expect(response.statusCode).toBe(400)
})
