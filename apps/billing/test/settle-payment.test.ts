import { DEVNET_ROLES, fundBuyer } from '@upfront/devnet'
import { makeRequirements, SELLER, sign } from './support/buyer.js'
import { usdcBalance, useStand } from './support/stand.js'
import { stores } from './support/stores.js'

describe.each(stores())('a payment, on $name', (store) => {
  const test = store.missing === null ? it : it.skip
  const stand = useStand(store)

  test('transfers exactly its charge', async () => {
    const before = await usdcBalance(stand.devnet, SELLER)
    const { id } = await stand.billing.authorizeNew()
    const result = await stand.billing.charge(id, '30000')
    expect(result).toMatchObject({
      outcome: 'done',
      payment: { id, state: 'settled', charge: 30_000n, maximum: 100_000n, reason: 'usage' },
    })
    expect(await usdcBalance(stand.devnet, SELLER)).toBe(before + 30_000n)
    expect(result.payment.feePaid).toBeGreaterThan(0n)
  })

  test('is used up by a zero charge, without a transaction', async () => {
    const payload = await sign()
    const authorized = await stand.billing.authorize(payload)
    if (authorized.outcome !== 'authorized') throw new Error(authorized.reason)
    const { payment } = await stand.billing.charge(authorized.payment.id, '0')
    expect(payment).toMatchObject({ state: 'zero', charge: 0n, transaction: null })
    expect(await stand.billing.authorize(payload)).toMatchObject({
      outcome: 'refused',
      reason: 'permit2_invalid_nonce',
    })
    expect((await stand.billing.verify(payload)).body).toMatchObject({
      isValid: false,
      invalidReason: 'permit2_invalid_nonce',
    })
    expect((await stand.billing.settle(payload, '1000')).body).toMatchObject({ success: false })
  })

  test('refuses a charge above its maximum, and stays chargeable', async () => {
    const { id } = await stand.billing.authorizeNew()
    expect(await stand.billing.charge(id, '100001')).toMatchObject({
      outcome: 'refused',
      reason: 'invalid_upto_evm_payload_settlement_exceeds_amount',
      payment: { state: 'authorized' },
    })
    expect((await stand.billing.charge(id, '100000')).payment.state).toBe('settled')
  })

  test('can be neither charged nor authorized again after a release', async () => {
    const payload = await sign()
    const authorized = await stand.billing.authorize(payload)
    if (authorized.outcome !== 'authorized') throw new Error(authorized.reason)
    const { id } = authorized.payment
    expect((await stand.billing.release(id, 'handler failed')).payment).toMatchObject({
      state: 'released',
      charge: null,
    })
    expect(await stand.billing.charge(id, '1')).toMatchObject({ outcome: 'refused', reason: 'payment_not_authorized' })
    expect(await stand.billing.authorize(payload)).toMatchObject({
      outcome: 'refused',
      reason: 'permit2_invalid_nonce',
    })
  })

  test('returns the first result for the same key, and refuses the key for other input', async () => {
    const payload = await sign()
    const first = await stand.billing.authorize(payload, { key: 'authorize-1' })
    expect(await stand.billing.authorize(payload, { key: 'authorize-1' })).toEqual(first)
    await expect(stand.billing.authorize(await sign(), { key: 'authorize-1' })).rejects.toThrow(
      'idempotency_key_reused',
    )
    if (first.outcome !== 'authorized') throw new Error(first.reason)
    const charged = await stand.billing.charge(first.payment.id, '5', { key: 'charge-1' })
    expect(await stand.billing.charge(first.payment.id, '5', { key: 'charge-1' })).toEqual(charged)
    await expect(stand.billing.charge(first.payment.id, '6', { key: 'charge-1' })).rejects.toThrow('422')
    expect(await stand.billing.charge(first.payment.id, '5', { key: 'charge-2' })).toMatchObject({
      outcome: 'refused',
      reason: 'payment_not_authorized',
    })
  })

  test('returns a refusal again for the same key, even once it would be authorized', async () => {
    const payload = await sign(makeRequirements(), DEVNET_ROLES.unapprovedBuyer)
    const first = await stand.billing.authorize(payload, { key: 'authorize-2' })
    expect(first).toMatchObject({ outcome: 'refused', reason: 'permit2_allowance_required' })
    await fundBuyer(stand.devnet.rpcUrl, DEVNET_ROLES.unapprovedBuyer, { amount: 1n })
    expect(await stand.billing.authorize(payload, { key: 'authorize-2' })).toEqual(first)
    expect(await stand.billing.authorize(payload, { key: 'authorize-3' })).toMatchObject({ outcome: 'authorized' })
  })

  test('settles once through /verify and /settle', async () => {
    const payload = await sign()
    expect((await stand.billing.verify(payload)).body).toEqual({
      isValid: true,
      payer: DEVNET_ROLES.buyer.address.toLowerCase(),
    })
    expect((await stand.billing.verify(payload)).body).toMatchObject({ isValid: true })
    const before = await usdcBalance(stand.devnet, SELLER)
    const { body } = await stand.billing.settle(payload, '7000')
    expect(body).toMatchObject({ success: true, amount: '7000', network: 'eip155:31337' })
    expect(await usdcBalance(stand.devnet, SELLER)).toBe(before + 7_000n)
    expect((await stand.billing.settle(payload, '6999')).body).toMatchObject({
      success: false,
      errorReason: 'permit2_invalid_nonce',
    })
    expect((await stand.billing.verify(payload)).body).toMatchObject({ isValid: false })
  })

  test('accepts a charge far below its maximum', async () => {
    const { id } = await stand.billing.authorizeNew(makeRequirements({ maximum: '900000' }))
    expect((await stand.billing.charge(id, '1', { reason: 'partial' })).payment).toMatchObject({
      state: 'settled',
      reason: 'partial',
    })
  })
})
