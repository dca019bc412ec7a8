import { DEVNET_ACCOUNTS, type Devnet, type FaultProxy, fundBuyer, startDevnet, startFaultProxy } from '@upfront/devnet'
import type { Payment } from '@upfront/protocol'
import type { PaymentPayload } from '@x402/core/types'
import { createTestClient, http } from 'viem'
import { runBilling } from './support/billing.js'
import { makeRequirements, SELLER, sign } from './support/buyer.js'
import { burnNonce, facilitatorWallet, settleElsewhere, transfer } from './support/on-chain.js'
import { type RunningBilling, usdcBalance } from './support/stand.js'
import { oneStore } from './support/stores.js'
import { until } from './support/until.js'

/** Waits as long as the settlement takes. */
const PATIENT = { waitMilliseconds: 120_000 }

describe.each(oneStore())('when the chain or its node misbehaves, on $name', (store) => {
  const test = store.missing === null ? it : it.skip
  let devnet: Devnet
  let node: FaultProxy
  let billing: RunningBilling
  const rejections: unknown[] = []
  const onRejection = (error: unknown) => rejections.push(error)

  const anvil = () => createTestClient({ mode: 'anvil', transport: http(devnet.rpcUrl) })
  const untilState = (id: string, state: Payment['state'], between?: () => Promise<unknown>): Promise<Payment> =>
    until(
      () => billing.payment(id),
      (payment) => payment.state === state,
      between,
    )
  /** Some facts count only some blocks below the head. */
  const mineOne = () => anvil().mine({ blocks: 1 })
  const eventsOf = async (id: string) => {
    const { body } = await billing.send(`/payments/${id}`)
    return (body as { events: { kind: string }[] }).events.map(({ kind }) => kind)
  }
  const authorize = async (payload: PaymentPayload) => {
    const authorized = await billing.authorize(payload)
    if (authorized.outcome !== 'authorized') throw new Error(authorized.reason)
    return authorized.payment
  }

  beforeAll(async () => {
    if (store.missing !== null) return console.warn(`skipped: ${store.missing}`)
    process.on('unhandledRejection', onRejection)
    await store.start()
    devnet = await startDevnet()
    node = await startFaultProxy(devnet.rpcUrl)
    billing = await runBilling(node.url, {
      recoveryMs: '200',
      nodeTimeoutMs: '1000',
      receiptWaitMs: '300',
      feeBumpMs: '500',
      ...(await store.variables()),
    })
  })
  beforeEach(() => void node?.sent.splice(0))
  afterEach(() => expect(rejections.splice(0)).toEqual([]))
  afterAll(async () => {
    await billing?.close()
    await node?.stop()
    await devnet?.stop()
    process.off('unhandledRejection', onRejection)
    await store.stop()
  })

  test('a node that answers 429 makes /verify answer 503 to a valid payment, never invalid', async () => {
    const payload = await sign()
    const wrongSpender = structuredClone(payload)
    Object.assign((wrongSpender.payload as { permit2Authorization: object }).permit2Authorization, { spender: SELLER })
    for (const failing of ['eth_getCode', 'eth_call']) {
      node.faultOf = (method) => (method === failing ? 'http-429' : undefined)
      const { status, headers, body } = await billing.verify(payload)
      expect({ status, body }).toMatchObject({ status: 503, body: { error: { code: 'unavailable' } } })
      expect(headers.get('retry-after')).toBe('1')
      // The library starts to read the token's code, and refuses for another reason before it uses the answer.
      const { body: verdict } = await billing.verify(wrongSpender)
      expect(verdict).not.toMatchObject({ isValid: true })
    }
    node.faultOf = undefined
    expect((await billing.verify(payload)).body).toMatchObject({ isValid: true })
  })

  test('a node that accepts a transaction and drops the connection does not cause a second one', async () => {
    node.faultOf = (method) => (method === 'eth_sendRawTransaction' ? 'reset-after' : undefined)
    const before = await usdcBalance(devnet, SELLER)
    const { id } = await billing.authorizeNew()
    expect((await billing.charge(id, '1234', PATIENT)).payment.state).toBe('settled')
    node.faultOf = undefined
    expect(new Set(node.sent).size).toBe(1)
    expect(await usdcBalance(devnet, SELLER)).toBe(before + 1_234n)
  })

  test('a charge is stored as charging while the node answers 429, and settled later', async () => {
    const { id } = await billing.authorizeNew()
    node.faultOf = () => 'http-429'
    const { payment } = await billing.charge(id, '1234', { waitMilliseconds: 300 })
    expect(payment).toMatchObject({ state: 'charging', charge: 1_234n, transaction: null })
    node.faultOf = undefined
    expect(await untilState(id, 'settled')).toMatchObject({ charge: 1_234n })
  })

  test('/settle answers settlement_pending until the transaction is mined, then succeeds once', async () => {
    await anvil().setAutomine(false)
    const payload = await sign()
    const settle = async () => (await billing.settle(payload, '500')).body as Record<string, unknown>
    let answer = await settle()
    expect(answer).toMatchObject({ success: false, errorReason: 'settlement_pending' })
    // On a busy machine nothing may be signed yet when the first answer is due.
    while (answer.transaction === '') answer = await settle()
    expect(answer.errorReason).toBe('settlement_pending')
    const { transaction } = answer
    expect(transaction).toMatch(/^0x[0-9a-f]{64}$/)
    await anvil().mine({ blocks: 1 })
    await anvil().setAutomine(true)
    while (answer.errorReason === 'settlement_pending') answer = await settle()
    const again = await Promise.all([1, 2, 3].map(settle))
    expect(again.map(({ errorReason }) => errorReason)).toEqual(Array(3).fill('permit2_invalid_nonce'))
    // One with a higher fee may have replaced it in the meantime.
    expect(answer).toMatchObject({
      success: true,
      transaction: expect.stringMatching(/^0x[0-9a-f]{64}$/),
      amount: '500',
    })
  })

  test('a stuck transaction is replaced by one with a higher fee', async () => {
    await anvil().setAutomine(false)
    const { id } = await billing.authorizeNew()
    await billing.charge(id, '900', { waitMilliseconds: 0 })
    await until(async () => (await eventsOf(id)).includes('fee raised'))
    const { transaction } = await billing.payment(id)
    await anvil().mine({ blocks: 1 })
    await anvil().setAutomine(true)
    expect(await untilState(id, 'settled')).toMatchObject({ charge: 900n })
    expect(transaction).not.toBeNull()
    expect(await eventsOf(id)).toContain('fee raised')
  })

  test('a charge fails with permit2_insufficient_balance if the payer emptied the account first', async () => {
    const buyer = DEVNET_ACCOUNTS[8]!
    await fundBuyer(devnet.rpcUrl, buyer, { amount: 150_000n })
    const { id } = await authorize(await sign(makeRequirements(), buyer))
    await transfer(devnet, buyer, SELLER, 150_000n)
    const { payment } = await billing.charge(id, '700', { waitMilliseconds: 0 })
    expect(payment).toMatchObject({ state: 'charging', transaction: null })
    expect(await untilState(id, 'failed', mineOne)).toMatchObject({
      reason: 'permit2_insufficient_balance',
      charge: 700n,
      transaction: null,
    })
  })

  test('a charge fails with permit2_nonce_invalidated if the payer burned the nonce first', async () => {
    const buyer = DEVNET_ACCOUNTS[9]!
    await fundBuyer(devnet.rpcUrl, buyer)
    const { id, nonce } = await billing.authorizeNew(makeRequirements(), buyer)
    await burnNonce(devnet, nonce, buyer)
    await billing.charge(id, '700', { waitMilliseconds: 0 })
    expect(await untilState(id, 'failed', mineOne)).toMatchObject({ reason: 'permit2_nonce_invalidated' })
  })

  test('settlements go on after the signer spent a nonce elsewhere', async () => {
    await facilitatorWallet(devnet).sendTransaction({ chain: null, to: SELLER, value: 1n })
    const { id } = await billing.authorizeNew()
    await billing.charge(id, '600', { waitMilliseconds: 500 })
    await untilState(id, 'settled', mineOne)
  })

  test('a settlement made elsewhere with the same key is found by its transfer, and nothing is sent', async () => {
    const payload = await sign()
    const { id } = await authorize(payload)
    await settleElsewhere(devnet, payload, 555n)
    await billing.charge(id, '555', { waitMilliseconds: 0 })
    expect(await untilState(id, 'settled', mineOne)).toMatchObject({ charge: 555n })
    expect(node.sent).toEqual([])
  })

  // Must run last: it moves the chain's time ahead of the machine's.
  test('an authorization that is never charged expires, and cannot be used again', async () => {
    const payload = await sign(makeRequirements({ maxTimeoutSeconds: 600 }))
    const { id } = await authorize(payload)
    await anvil().increaseTime({ seconds: 700 })
    await anvil().mine({ blocks: 1 })
    expect(await untilState(id, 'expired')).toMatchObject({ charge: null })
    expect(await billing.charge(id, '1')).toMatchObject({ outcome: 'refused' })
    expect(await billing.authorize(payload)).toMatchObject({ outcome: 'refused' })
  })
})
