import { DEVNET_ACCOUNTS, fundBuyer } from '@upfront/devnet'
import type { PaymentPayload } from '@x402/core/types'
import { makeRequirements, SELLER, sign } from './support/buyer.js'
import { burnNonce, facilitatorWallet, settleElsewhere, transfer } from './support/on-chain.js'
import { usdcBalance, useStand } from './support/stand.js'
import { oneStore } from './support/stores.js'
import { until } from './support/until.js'

/** Waits as long as the settlement takes. */
const PATIENT = { waitMilliseconds: 120_000 }

describe.each(oneStore())('when the chain or its node misbehaves, on $name', (store) => {
  const test = store.missing === null ? it : it.skip
  const stand = useStand(store, {
    settings: { recoveryMs: '200', nodeTimeoutMs: '1000', receiptWaitMs: '300', feeBumpMs: '500' },
  })
  /** Some facts count only some blocks below the head: `mineOne`. */
  const { anvil, mineOne, eventKinds, untilState } = stand
  const rejections: unknown[] = []
  const onRejection = (error: unknown) => rejections.push(error)
  const authorize = async (payload: PaymentPayload) => {
    const authorized = await stand.billing.authorize(payload)
    if (authorized.outcome !== 'authorized') throw new Error(authorized.reason)
    return authorized.payment
  }

  beforeAll(() => void process.on('unhandledRejection', onRejection))
  beforeEach(() => void stand.node?.sent.splice(0))
  afterEach(() => expect(rejections.splice(0)).toEqual([]))
  afterAll(() => void process.off('unhandledRejection', onRejection))

  test('a node that answers 429 makes /verify answer 503 to a valid payment, never invalid', async () => {
    const payload = await sign()
    const wrongSpender = structuredClone(payload)
    Object.assign((wrongSpender.payload as { permit2Authorization: object }).permit2Authorization, { spender: SELLER })
    for (const failing of ['eth_getCode', 'eth_call']) {
      stand.node.faultOf = (method) => (method === failing ? 'http-429' : undefined)
      const { status, headers, body } = await stand.billing.verify(payload)
      expect({ status, body }).toMatchObject({ status: 503, body: { error: { code: 'unavailable' } } })
      expect(headers.get('retry-after')).toBe('1')
      // The library starts to read the token's code, and refuses for another reason before it uses the answer.
      const { body: verdict } = await stand.billing.verify(wrongSpender)
      expect(verdict).not.toMatchObject({ isValid: true })
    }
    stand.node.faultOf = undefined
    expect((await stand.billing.verify(payload)).body).toMatchObject({ isValid: true })
  })

  test.each(['eth_getCode', 'eth_call'])(
    'a node that answers nonsense to %s makes requests fail with 503',
    async (method) => {
      const payload = await sign()
      stand.node.lies = (call) => (call.method === method ? { nonsense: [7] } : undefined)
      const body = { paymentPayload: payload, paymentRequirements: payload.accepted }
      const answers = [
        await stand.billing.verify(payload),
        await stand.billing.settle(payload, '5'),
        await stand.billing.send('/internal/payments', { key: method, body }),
      ]
      stand.node.lies = undefined
      expect(answers.map(({ status }) => status)).toEqual([503, 503, 503])
    },
  )

  test('a node that accepts a transaction and drops the connection does not cause a second one', async () => {
    stand.node.faultOf = (method) => (method === 'eth_sendRawTransaction' ? 'reset-after' : undefined)
    const before = await usdcBalance(stand.devnet, SELLER)
    const { id } = await stand.billing.authorizeNew()
    expect((await stand.billing.charge(id, '1234', PATIENT)).payment.state).toBe('settled')
    stand.node.faultOf = undefined
    expect(new Set(stand.node.sent).size).toBe(1)
    expect(await usdcBalance(stand.devnet, SELLER)).toBe(before + 1_234n)
  })

  test('a charge is stored as charging while the node answers 429, and settled later', async () => {
    const { id } = await stand.billing.authorizeNew()
    stand.node.faultOf = () => 'http-429'
    const { payment } = await stand.billing.charge(id, '1234', { waitMilliseconds: 300 })
    expect(payment).toMatchObject({ state: 'charging', charge: 1_234n, transaction: null })
    stand.node.faultOf = undefined
    expect(await untilState(id, 'settled')).toMatchObject({ charge: 1_234n })
  })

  test('/settle answers settlement_pending until the transaction is mined, then succeeds once', async () => {
    await anvil().setAutomine(false)
    const payload = await sign()
    const settle = async () => (await stand.billing.settle(payload, '500')).body as Record<string, unknown>
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
    const { id } = await stand.billing.authorizeNew()
    await stand.billing.charge(id, '900', { waitMilliseconds: 0 })
    await until(async () => (await eventKinds(id)).includes('fee raised'))
    const { transaction } = await stand.billing.payment(id)
    await anvil().mine({ blocks: 1 })
    await anvil().setAutomine(true)
    expect(await untilState(id, 'settled')).toMatchObject({ charge: 900n })
    expect(transaction).not.toBeNull()
    expect(await eventKinds(id)).toContain('fee raised')
  })

  test('a charge fails with permit2_insufficient_balance if the payer emptied the account first', async () => {
    const buyer = DEVNET_ACCOUNTS[8]!
    await fundBuyer(stand.devnet.rpcUrl, buyer, { amount: 150_000n })
    const { id } = await authorize(await sign(makeRequirements(), buyer))
    await transfer(stand.devnet, buyer, SELLER, 150_000n)
    const { payment } = await stand.billing.charge(id, '700', { waitMilliseconds: 0 })
    expect(payment).toMatchObject({ state: 'charging', transaction: null })
    expect(await untilState(id, 'failed', mineOne)).toMatchObject({
      reason: 'permit2_insufficient_balance',
      charge: 700n,
      transaction: null,
    })
  })

  test('a charge fails with permit2_nonce_invalidated if the payer burned the nonce first', async () => {
    const buyer = DEVNET_ACCOUNTS[9]!
    await fundBuyer(stand.devnet.rpcUrl, buyer)
    const { id, nonce } = await stand.billing.authorizeNew(makeRequirements(), buyer)
    await burnNonce(stand.devnet, nonce, buyer)
    await stand.billing.charge(id, '700', { waitMilliseconds: 0 })
    expect(await untilState(id, 'failed', mineOne)).toMatchObject({ reason: 'permit2_nonce_invalidated' })
  })

  test('settlements go on after the signer spent a nonce elsewhere', async () => {
    await facilitatorWallet(stand.devnet).sendTransaction({ chain: null, to: SELLER, value: 1n })
    const { id } = await stand.billing.authorizeNew()
    await stand.billing.charge(id, '600', { waitMilliseconds: 500 })
    await untilState(id, 'settled', mineOne)
  })

  test('a settlement made elsewhere with the same key is found by its transfer, and nothing is sent', async () => {
    const payload = await sign()
    const { id } = await authorize(payload)
    await settleElsewhere(stand.devnet, payload, 555n)
    await stand.billing.charge(id, '555', { waitMilliseconds: 0 })
    expect(await untilState(id, 'settled', mineOne)).toMatchObject({ charge: 555n })
    expect(stand.node.sent).toEqual([])
  })

  // Must run last: it moves the chain's time ahead of the machine's.
  test('an authorization that is never charged expires, and cannot be used again', async () => {
    const payload = await sign(makeRequirements({ maxTimeoutSeconds: 600 }))
    const { id } = await authorize(payload)
    await anvil().increaseTime({ seconds: 700 })
    await anvil().mine({ blocks: 1 })
    expect(await untilState(id, 'expired')).toMatchObject({ charge: null })
    expect(await stand.billing.charge(id, '1')).toMatchObject({ outcome: 'refused' })
    expect(await stand.billing.authorize(payload)).toMatchObject({ outcome: 'refused' })
  })
})
