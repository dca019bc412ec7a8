import { spawnSync } from 'node:child_process'
import { Writable } from 'node:stream'
import { fileURLToPath } from 'node:url'
import { DEVNET_ROLES, type Devnet, startDevnet } from '@upfront/devnet'
import { createLogger } from '@upfront/service'
import { HTTPFacilitatorClient } from '@x402/core/server'
import type { PaymentPayload } from '@x402/core/types'
import { createTestClient, http } from 'viem'
import { runBilling, TOKEN } from './support/billing.js'
import { makeRequirements, SELLER, sign } from './support/buyer.js'
import { settlementPromise } from './support/on-chain.js'
import { type RunningBilling, usdcBalance } from './support/stand.js'
import { oneStore } from './support/stores.js'

const COMMAND = fileURLToPath(new URL('../dist/sellers/command.js', import.meta.url))
const OTHER_RECIPIENT = DEVNET_ROLES.unapprovedBuyer.address

interface Made {
  id: string
  token: string
}

describe.each(oneStore())('seller accounts, on $name', (store) => {
  const test = store.missing === null ? it : it.skip
  let devnet: Devnet
  let billing: RunningBilling
  let ledger: Record<string, string>
  let bakery: Made
  let brewery: Made
  let poor: Made
  let logged = ''

  function command(...args: string[]): { status: number | null; output: string } {
    const { status, stdout, stderr } = spawnSync(process.execPath, [COMMAND, ...args], {
      env: { PATH: process.env.PATH ?? '', ...ledger },
      encoding: 'utf8',
    })
    return { status, output: stdout + stderr }
  }
  const make = (...args: string[]): Made => {
    const { status, output } = command('make', ...args)
    if (status !== 0) throw new Error(output)
    return JSON.parse(output)
  }
  const start = async () => {
    const written = new Writable({
      write(chunk, _encoding, done) {
        logged += String(chunk)
        done()
      },
    })
    billing = await runBilling(devnet.rpcUrl, ledger, createLogger({ level: 'trace', destination: written }))
  }
  const post = async (
    path: string,
    token: string | null,
    payload: PaymentPayload,
    amount = payload.accepted.amount,
  ) => {
    const paymentRequirements = { ...payload.accepted, amount }
    const response = await fetch(`${billing.url}${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...(token === null ? {} : { authorization: `Bearer ${token}` }) },
      body: JSON.stringify({ x402Version: 2, paymentPayload: payload, paymentRequirements }),
    })
    return {
      status: response.status,
      headers: response.headers,
      body: (await response.json()) as Record<string, unknown>,
    }
  }
  const listed = async (token: string, query = '') =>
    ((await billing.send(`/payments${query}`, { token })).body as { payments: { id: string }[] }).payments

  beforeAll(async () => {
    if (store.missing !== null) return console.warn(`skipped: ${store.missing}`)
    await store.start()
    devnet = await startDevnet()
    ledger = (await store.variables()) as Record<string, string>
    bakery = make('--name', 'bakery', '--pay-to', SELLER, '--minimum', '500', '--per-minute', '1000')
    brewery = make('--name', 'brewery', '--pay-to', `${SELLER},${OTHER_RECIPIENT}`, '--per-minute', '3')
    // Covers one settlement in flight, but not two, even if the base fee falls.
    const dailyGas = ((await settlementPromise(devnet)) * 13n) / 10n
    poor = make('--name', 'poor', '--pay-to', SELLER, '--daily-gas', dailyGas.toString())
    await start()
  })
  afterAll(async () => {
    await billing?.close()
    await devnet?.stop()
    await store.stop()
  })

  test('settle with a token in the header or in the path, and answer 401 without one', async () => {
    const before = await usdcBalance(devnet, SELLER)
    const payload = await sign()
    for (const token of [null, 'wrong', '']) {
      expect(await post('/settle', token, payload, '700')).toMatchObject({ status: 401 })
      if (token) expect(await post(`/s/${token}/settle`, null, payload, '700')).toMatchObject({ status: 401 })
    }
    expect((await post('/verify', bakery.token, payload)).body).toMatchObject({ isValid: true })
    expect((await post('/settle', bakery.token, payload, '700')).body).toMatchObject({ success: true, amount: '700' })
    const client = new HTTPFacilitatorClient({ url: `${billing.url}/s/${bakery.token}` })
    expect((await client.getSupported()).kinds.length).toBeGreaterThan(0)
    const other = await sign()
    expect(await client.verify(other, other.accepted)).toMatchObject({ isValid: true })
    expect(await client.settle(other, { ...other.accepted, amount: '800' })).toMatchObject({ success: true })
    expect(await usdcBalance(devnet, SELLER)).toBe(before + 1_500n)
  })

  test('enforce their recipients, minimum amount and daily gas', async () => {
    const elsewhere = await sign(makeRequirements({ payTo: OTHER_RECIPIENT }))
    expect((await post('/verify', bakery.token, elsewhere)).body).toMatchObject({ invalidReason: 'pay_to_not_served' })
    expect((await post('/settle', bakery.token, elsewhere, '700')).body).toMatchObject({
      errorReason: 'pay_to_not_served',
    })
    const payload = await sign()
    expect((await post('/settle', bakery.token, payload, '499')).body).toMatchObject({
      errorReason: 'amount_too_small',
    })
    const outOfGas = { errorReason: 'facilitator_out_of_gas' }
    const node = createTestClient({ mode: 'anvil', transport: http(devnet.rpcUrl) })
    // Sent but not mined: of two concurrent calls, one succeeds.
    await node.setAutomine(false)
    const both = [await sign(), await sign()]
    const settling = both.map(async (each) => (await post('/settle', poor.token, each, '2000')).body)
    const refused = await Promise.race(settling)
    expect(refused).toMatchObject(outOfGas)
    expect((await post('/verify', poor.token, payload)).body).toMatchObject({ invalidReason: 'facilitator_out_of_gas' })
    await node.setAutomine(true)
    await node.mine({ blocks: 1 })
    expect((await Promise.all(settling)).filter(({ success }) => success)).toHaveLength(1)
    // Once mined, it has cost less than was reserved.
    expect((await post('/settle', poor.token, payload, '2000')).body).toMatchObject({ success: true })
    // Payments that were undone for lack of gas are not counted.
    const metrics = String((await billing.send('/metrics')).body)
    const payments = (await listed(TOKEN)).length
    for (const state of ['authorized', 'charging'])
      expect(metrics).toContain(`billing_payment_transitions_total{state="${state}"} ${payments}\n`)
  })

  test('limit calls per minute, each account separately', async () => {
    const payload = await sign()
    for (let call = 0; call < 3; call++) expect((await post('/verify', brewery.token, payload)).status).toBe(200)
    const limited = await post('/verify', brewery.token, payload)
    expect(limited).toMatchObject({ status: 429, body: { error: { code: 'rate_limited' } } })
    expect(Number(limited.headers.get('retry-after'))).toBeGreaterThan(0)
    expect((await post('/verify', bakery.token, payload)).status).toBe(200)
  })

  test('see their own payments only', async () => {
    const own = await listed(bakery.token)
    expect(own).toHaveLength(2)
    expect(await listed(poor.token)).toHaveLength(2)
    expect((await listed(TOKEN)).length).toBeGreaterThanOrEqual(3)
    const [{ id = '' } = {}] = await listed(poor.token)
    expect((await billing.send(`/payments/${id}`, { token: bakery.token })).status).toBe(404)
    expect((await billing.send(`/payments/${own[0]?.id}`, { token: bakery.token })).status).toBe(200)
    for (const path of ['/accounts', '/reconciliation', '/internal/payments/none']) {
      expect((await billing.send(path, { token: bakery.token })).status).toBe(403)
    }
    // A seller that lost the answer finds the payment by nonce and payer.
    const { nonce } = own[0] as unknown as { nonce: string }
    expect(await listed(bakery.token, `?nonce=${nonce}&payer=${DEVNET_ROLES.buyer.address}`)).toMatchObject([
      { id: own[0]?.id },
    ])
  })

  test('refuse a payment that another seller has settled', async () => {
    const payload = await sign()
    expect((await post('/settle', bakery.token, payload, '700')).body).toMatchObject({ success: true })
    const again = await post('/settle', poor.token, payload, '700')
    expect(again.body).toMatchObject({ success: false, errorReason: 'permit2_invalid_nonce' })
  })

  test('show their token in no log, error or metric', async () => {
    for (const path of ['nothing', '%zz']) {
      const wrong = await fetch(`${billing.url}/s/${bakery.token}/${path}`, { method: 'POST' })
      const body = await wrong.text()
      expect(body).toContain('"code":')
      expect(body).not.toContain(bakery.token)
    }
    const noJson = { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{' }
    expect(await (await fetch(`${billing.url}/s/${bakery.token}/settle`, noJson)).text()).not.toContain(bakery.token)
    expect(logged).toContain('/s/:token/settle')
    expect(logged).not.toContain(bakery.token)
    expect(String((await billing.send('/metrics')).body)).not.toContain(bakery.token)
  })

  // Must run last: with PGlite, the command needs billing to be down.
  test('are listed without their tokens, and answer 401 once retired', async () => {
    await billing.close()
    const { output } = command('list')
    expect(JSON.parse(output)).toMatchObject([{ name: 'bakery' }, { name: 'brewery' }, { name: 'poor' }])
    expect(output).not.toContain(bakery.token)
    expect(command('retire', bakery.id)).toMatchObject({ status: 0 })
    expect(command('retire', bakery.id)).toMatchObject({ status: 1, output: expect.stringContaining(bakery.id) })
    expect(command('make', '--name', 'x', '--pay-to', 'nowhere')).toMatchObject({
      status: 1,
      output: expect.stringContaining('--pay-to'),
    })
    await start()
    expect(await post('/verify', bakery.token, await sign())).toMatchObject({ status: 401 })
    expect((await post('/verify', poor.token, await sign())).status).toBe(200)
  })
})
