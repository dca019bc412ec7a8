import { DEVNET_ROLES, type Devnet, type FaultProxy, startDevnet, startFaultProxy, USDC_ADDRESS } from '@upfront/devnet'
import type { PaymentPayload } from '@x402/core/types'
import { createTestClient, http } from 'viem'
import { runBilling } from './support/billing.js'
import { makeRequirements, SELLER, sign } from './support/buyer.js'
import { type RunningBilling, usdcBalance } from './support/stand.js'
import { oneStore } from './support/stores.js'
import { until } from './support/until.js'

const BASE_FEE = 1_000_000_000n

describe.each(oneStore())('a facilitator for strangers, on $name', (store) => {
  const test = store.missing === null ? it : it.skip
  let devnet: Devnet
  let node: FaultProxy
  let billing: RunningBilling

  const run = async (variables: NodeJS.ProcessEnv = {}, chain: Record<string, string> = {}) => {
    await billing?.close()
    const tokens = { [USDC_ADDRESS]: { name: 'USDC', version: '2', decimals: 6 } }
    const CHAINS = JSON.stringify({ 'eip155:31337': { rpcUrl: node.url, tokens, ...chain } })
    billing = await runBilling(node.url, {
      CHAINS,
      RECOVERY_INTERVAL_MS: '200',
      ...(await store.variables()),
      ...variables,
    })
  }
  const payments = async () => ((await billing.send('/payments')).body as { payments: unknown[] }).payments
  const describePayment = async (id: string) =>
    (await billing.send(`/payments/${id}`)).body as { waitsFor: string | null }
  const anvil = () => createTestClient({ mode: 'anvil', transport: http(devnet.rpcUrl) })
  const mineWithBaseFee = async (baseFeePerGas: bigint) => {
    await anvil().setNextBlockBaseFeePerGas({ baseFeePerGas })
    await anvil().mine({ blocks: 1 })
  }

  beforeAll(async () => {
    if (store.missing !== null) return console.warn(`skipped: ${store.missing}`)
    await store.start()
    devnet = await startDevnet()
    node = await startFaultProxy(devnet.rpcUrl)
  })
  afterAll(async () => {
    await billing?.close()
    await node?.stop()
    await devnet?.stop()
    await store.stop()
  })

  test('is off unless it is switched on; what it settles is told all the same', async () => {
    await run({ OPEN_FACILITATOR: '', OPEN_FACILITATOR_PAY_TO: '' })
    const payload = await sign()
    for (const { status, body } of [await billing.verify(payload), await billing.settle(payload, '1000')]) {
      expect({ status, body }).toMatchObject({ status: 403, body: { error: { code: 'forbidden' } } })
    }
    expect(await payments()).toEqual([])
    expect((await billing.send('/supported')).status).toBe(200)
    expect((await billing.authorizeNew()).state).toBe('authorized')
  })

  test('settles to listed recipients only, at least a smallest amount, and stores nothing of the rest', async () => {
    await run({ OPEN_FACILITATOR_PAY_TO: `${SELLER}, ${USDC_ADDRESS}`, OPEN_FACILITATOR_MINIMUM: '500' })
    const elsewhere = await sign(makeRequirements({ payTo: DEVNET_ROLES.facilitators[1].address }))
    const reason = 'pay_to_not_served'
    expect((await billing.verify(elsewhere)).body).toMatchObject({ isValid: false, invalidReason: reason })
    expect((await billing.settle(elsewhere, '1000')).body).toMatchObject({ success: false, errorReason: reason })
    const payload = await sign()
    expect((await billing.settle(payload, '499')).body).toMatchObject({ errorReason: 'amount_too_small' })
    const little = await sign(makeRequirements({ maximum: '499' }))
    expect((await billing.verify(little)).body).toMatchObject({ isValid: false, invalidReason: 'amount_too_small' })
    expect(await payments()).toEqual([])
    // A charge of zero moves nothing, and its authorization is used.
    expect((await billing.settle(await sign(), '0')).body).toMatchObject({
      success: true,
      transaction: '',
      amount: '0',
    })
    const before = await usdcBalance(devnet, SELLER)
    expect((await billing.settle(payload, '500')).body).toMatchObject({ success: true, amount: '500' })
    expect(await usdcBalance(devnet, SELLER)).toBe(before + 500n)
  })

  test('limits how often one client may ask', async () => {
    await run({ OPEN_FACILITATOR_PER_MINUTE: '3' })
    const payload = await sign()
    for (let call = 0; call < 3; call++) expect((await billing.verify(payload)).body).toMatchObject({ isValid: true })
    const { status, headers, body } = await billing.settle(payload, '1000')
    expect({ status, body }).toMatchObject({ status: 429, body: { error: { code: 'rate_limited' } } })
    expect(Number(headers.get('retry-after'))).toBeGreaterThan(0)
  })

  test("asks the node for a payer's code at most where an ordinary account did not sign", async () => {
    await run()
    const payload = structuredClone(await sign()) as PaymentPayload
    const other = (await sign()).payload as { signature: string }
    Object.assign(payload.payload, { signature: other.signature })
    // The token's code is known from then on.
    expect((await billing.verify(await sign())).body).toMatchObject({ isValid: true })
    node.reset()
    const { body } = await billing.verify(payload)
    expect(body).toMatchObject({ isValid: false, invalidReason: 'invalid_permit2_signature' })
    const { eth_call: calls = 0, eth_getCode: codes = 0 } = node.stats.byMethod
    expect({ calls, codes }).toEqual({ calls: 0, codes: 1 })
  })

  test('waits for cheaper gas, says so, and settles when it is there', async () => {
    await run({ RECEIPT_WAIT_MS: '500' }, { maxFeePerGas: (2n * BASE_FEE).toString() })
    await mineWithBaseFee(3n * BASE_FEE)
    await until(async () => String((await billing.send('/metrics')).body).includes('for="cheaper gas"} 1'))
    const payload = await sign()
    expect((await billing.settle(payload, '1000')).body).toMatchObject({
      success: false,
      errorReason: 'settlement_pending',
      errorMessage: 'the settlement waits for cheaper gas',
    })
    const { id } = await billing.authorizeNew()
    await billing.charge(id, '1000', { waitMilliseconds: 0 })
    expect(await describePayment(id)).toMatchObject({ payment: { state: 'charging' }, waitsFor: 'cheaper gas' })
    await mineWithBaseFee(BASE_FEE)
    await until(async () => (await billing.payment(id)).state === 'settled')
    expect(await describePayment(id)).toMatchObject({ waitsFor: null })
  })

  test("stops at a signer's gas budget of a day, and says so", async () => {
    await run({}, { dailyGasBudget: '1' })
    const [spent, { id }] = [await billing.authorizeNew(), await billing.authorizeNew()]
    expect((await billing.charge(spent.id, '1000')).payment.state).toBe('settled')
    await until(async () => String((await billing.send('/metrics')).body).includes('for="gas budget"} 1'))
    const { payment } = await billing.charge(id, '1000', { waitMilliseconds: 300 })
    expect(payment.state).toBe('charging')
    expect(await describePayment(id)).toMatchObject({ waitsFor: 'gas budget' })
    // What could not be settled is not promised either.
    await until(async () => (await billing.authorize(await sign())).outcome === 'refused')
    expect(await billing.authorize(await sign())).toMatchObject({ reason: 'facilitator_out_of_gas' })
  })

  test('counts what is in flight to that budget', async () => {
    await run({}, { dailyGasBudget: '1' })
    await anvil().setAutomine(false)
    const [sent, { id }] = [await billing.authorizeNew(), await billing.authorizeNew()]
    await billing.charge(sent.id, '1000', { waitMilliseconds: 0 })
    await until(async () => (await billing.payment(sent.id)).state === 'submitted')
    await until(async () => String((await billing.send('/metrics')).body).includes('for="gas budget"} 1'))
    await billing.charge(id, '1000', { waitMilliseconds: 0 })
    expect(await describePayment(id)).toMatchObject({ payment: { state: 'charging' }, waitsFor: 'gas budget' })
    await anvil().setAutomine(true)
  })
})
