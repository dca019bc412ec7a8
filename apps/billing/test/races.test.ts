import { DEVNET_ACCOUNTS, DEVNET_ROLES, type Devnet, fundBuyer, USDC_ADDRESS, usdcAbi } from '@upfront/devnet'
import { createTestClient, createWalletClient, http } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { runBilling } from './support/billing.js'
import { makeRequirements, SELLER, sign } from './support/buyer.js'
import { type RunningBilling, usdcBalance, useStand } from './support/stand.js'
import { stores } from './support/stores.js'
import { until } from './support/until.js'

/** `npm run test:races` uses more. */
const PAYMENTS = Number(process.env.RACE_PAYMENTS ?? 20)

async function inParallel<T>(count: number, concurrency: number, act: (index: number) => Promise<T>): Promise<T[]> {
  const results: T[] = []
  let next = 0
  const worker = async () => {
    while (next < count) {
      const index = next++
      results[index] = await act(index)
    }
  }
  await Promise.all(Array.from({ length: concurrency }, worker))
  return results
}

/** Authorizes and charges payments, 10 at a time, spread over the given processes. */
async function settleMany(count: number, devnet: Devnet, billings: RunningBilling[]): Promise<void> {
  const before = await usdcBalance(devnet, SELLER)
  const payments = await inParallel(count, 10, async (index) => {
    const billing = billings[index % billings.length] as RunningBilling
    const { id } = await billing.authorizeNew(makeRequirements({ maxTimeoutSeconds: 3_000 }))
    return (await billing.charge(id, String(1_000 + index))).payment
  })
  expect(payments.filter(({ state }) => state === 'settled')).toHaveLength(count)
  expect(new Set(payments.map(({ transaction }) => transaction)).size).toBe(count)
  expect((await usdcBalance(devnet, SELLER)) - before).toBe(BigInt(count * 1_000 + ((count - 1) * count) / 2))
}

describe.each(stores())('races, on $name', (store) => {
  const test = store.missing === null ? it : it.skip
  const stand = useStand(store)

  test(`${2 * PAYMENTS} parallel uses of one authorization make one reservation`, async () => {
    const payload = await sign()
    const results = await Promise.all(Array.from({ length: 2 * PAYMENTS }, () => stand.billing.authorize(payload)))
    expect(results.filter(({ outcome }) => outcome === 'authorized')).toHaveLength(1)
    const reasons = results.flatMap((result) => (result.outcome === 'refused' ? [result.reason] : []))
    expect(new Set(reasons)).toEqual(new Set(['permit2_invalid_nonce']))
  })

  test('new authorizations are authorized and used ones refused when they arrive together', async () => {
    const used = await sign()
    expect(await stand.billing.authorize(used)).toMatchObject({ outcome: 'authorized' })
    const fresh = await Promise.all(Array.from({ length: 6 }, () => sign()))
    const results = await Promise.all(
      fresh.flatMap((payload) => [payload, used]).map((payload) => stand.billing.authorize(payload)),
    )
    const outcomes = results.map((result) => (result.outcome === 'refused' ? result.reason : result.outcome))
    expect(outcomes).toEqual(fresh.flatMap(() => ['authorized', 'permit2_invalid_nonce']))
  })

  test('one of 10 payments with one payment identifier is authorized, and another only once that came to nothing', async () => {
    const id = `pay_${crypto.randomUUID()}`
    const signNamed = async () => {
      const payload = await sign()
      return { ...payload, extensions: { 'payment-identifier': { info: { required: false, id } } } }
    }
    const payloads = await Promise.all(Array.from({ length: 10 }, () => signNamed()))
    const results = await Promise.all(payloads.map((payload) => stand.billing.authorize(payload)))
    const authorized = results.flatMap((result) => (result.outcome === 'authorized' ? [result.payment.id] : []))
    const reasons = results.flatMap((result) => (result.outcome === 'refused' ? [result.reason] : []))
    expect([authorized.length, reasons]).toEqual([1, Array(9).fill('payment_identifier_taken')])
    // Its own repeat is refused as such.
    const first = payloads[results.findIndex(({ outcome }) => outcome === 'authorized')]!
    expect(await stand.billing.authorize(first)).toMatchObject({ reason: 'permit2_invalid_nonce' })
    // Refused under a key, it is refused the same way when repeated.
    const [late, key] = [await signNamed(), 'refused-identifier']
    expect(await stand.billing.authorize(late, { key })).toMatchObject({ reason: 'payment_identifier_taken' })
    await stand.billing.release(authorized[0]!, 'handler_failed')
    expect(await stand.billing.authorize(late, { key })).toMatchObject({ reason: 'payment_identifier_taken' })
    const second = await stand.billing.authorize(late)
    if (second.outcome !== 'authorized') throw new Error(second.reason)
    expect(await stand.billing.charge(second.payment.id, '7')).toMatchObject({ payment: { state: 'settled' } })
    expect(await stand.billing.authorize(await signNamed())).toMatchObject({ reason: 'payment_identifier_taken' })
  })

  test('20 parallel calls with one idempotency key make one payment, which all of them return', async () => {
    const payload = await sign()
    const results = await Promise.all(
      Array.from({ length: 20 }, () => stand.billing.authorize(payload, { key: 'same-key' })),
    )
    const ids = results.map((result) => (result.outcome === 'authorized' ? result.payment.id : result.reason))
    expect(new Set(ids).size).toBe(1)
    expect(ids[0]).toMatch(/^pay_/)
  })

  test('a balance for one payment allows one of five authorizations, and another after a release', async () => {
    const buyer = DEVNET_ACCOUNTS[store.name === 'PGlite' ? 7 : 8] ?? DEVNET_ROLES.buyer
    await fundBuyer(stand.devnet.rpcUrl, buyer, { amount: 150_000n })
    const payloads = await Promise.all(Array.from({ length: 5 }, () => sign(makeRequirements(), buyer)))
    const results = await Promise.all(payloads.map((payload) => stand.billing.authorize(payload)))
    const [authorized] = results.flatMap((result) => (result.outcome === 'authorized' ? [result.payment] : []))
    const refused = results.filter(({ outcome }) => outcome === 'refused')
    expect(refused).toHaveLength(4)
    for (const result of refused) expect(result).toMatchObject({ reason: 'permit2_insufficient_balance' })
    await stand.billing.release(authorized?.id ?? '', 'test')
    const next = await stand.billing.authorize(await sign(makeRequirements(), buyer))
    if (next.outcome !== 'authorized') throw new Error(next.reason)
    expect((await stand.billing.charge(next.payment.id, '50000')).payment.state).toBe('settled')
    // The rest covers exactly one more, immediately: the settled charge is not counted twice.
    expect(await stand.billing.authorize(await sign(makeRequirements(), buyer))).toMatchObject({
      outcome: 'authorized',
    })
  })

  test('ten concurrent calls charge one payment once', async () => {
    const { id } = await stand.billing.authorizeNew()
    const results = await Promise.all(
      Array.from({ length: 10 }, (_, index) => stand.billing.charge(id, String(100 + index))),
    )
    expect(results.filter(({ outcome }) => outcome === 'done')).toHaveLength(1)
  })

  test(`${PAYMENTS / 2} authorizations at concurrency 10 settle`, () =>
    settleMany(PAYMENTS / 2, stand.devnet, [stand.billing]))

  if (store.name === 'Postgres') {
    test('another process refuses a payer as soon as a charge of that payer is in doubt', async () => {
      const { devnet, billing, variables } = stand
      const buyer = DEVNET_ACCOUNTS[7] ?? DEVNET_ROLES.buyer
      await fundBuyer(devnet.rpcUrl, buyer, { amount: 100_000n })
      const other = await runBilling(devnet.rpcUrl, variables)
      const anvil = createTestClient({ mode: 'anvil', transport: http(devnet.rpcUrl) })
      const refused = { outcome: 'refused', reason: 'payer_refused' }
      try {
        const { id } = await billing.authorizeNew(makeRequirements(), buyer)
        const wallet = createWalletClient({
          account: privateKeyToAccount(buyer.privateKey),
          transport: http(devnet.rpcUrl),
        })
        const transfer = { address: USDC_ADDRESS, abi: usdcAbi, functionName: 'transfer' } as const
        await wallet.writeContract({
          chain: null,
          ...transfer,
          args: [SELLER, await usdcBalance(devnet, buyer.address)],
        })
        expect((await billing.charge(id, '50000')).payment.doubt).toBe('permit2_insufficient_balance')
        expect(await other.authorize(await sign(makeRequirements(), buyer))).toMatchObject(refused)
        await until(
          () => billing.payment(id),
          ({ state }) => state === 'failed',
          () => anvil.mine({ blocks: 1 }),
        )
        await fundBuyer(devnet.rpcUrl, buyer, { amount: 100_000n })
        expect(await other.authorize(await sign(makeRequirements(), buyer))).toMatchObject(refused)
        expect(await other.authorize(await sign())).toMatchObject({ outcome: 'authorized' })
      } finally {
        await other.close()
      }
    })

    test('two processes grant one authorization once, after it was pending at first', async () => {
      const { devnet, billing, variables } = stand
      const anvil = createTestClient({ mode: 'anvil', transport: http(devnet.rpcUrl) })
      const both = [
        await runBilling(devnet.rpcUrl, { ...variables, receiptWaitMs: '500' }),
        await runBilling(devnet.rpcUrl, { ...variables, receiptWaitMs: '500' }),
      ] as const
      const payload = await sign()
      const settleEverywhere = async () => {
        const answers = await inParallel(20, 20, (index) => both[index % 2]!.settle(payload, '7000'))
        return answers.map(({ body }) => (body as { errorReason?: string }).errorReason ?? 'granted').sort()
      }
      const used = Array<string>(19).fill('permit2_invalid_nonce')
      await anvil.setAutomine(false)
      try {
        expect(await settleEverywhere()).toEqual([...used, 'settlement_pending'])
        await anvil.mine({ blocks: 1 })
        const { nonce } = (payload.payload as { permit2Authorization: { nonce: string } }).permit2Authorization
        await until(async () => {
          const { body } = await billing.send(`/payments?nonce=${nonce}`)
          return (body as { payments: { state: string }[] }).payments[0]?.state === 'settled'
        })
        expect(await settleEverywhere()).toEqual(['granted', ...used])
      } finally {
        await anvil.setAutomine(true)
        for (const each of both) await each.close()
      }
    })

    test(`${PAYMENTS} payments settle with 1 s blocks through two processes that share a key`, async () => {
      const { devnet, billing, variables } = stand
      const other = await runBilling(devnet.rpcUrl, variables)
      const anvil = createTestClient({ mode: 'anvil', transport: http(devnet.rpcUrl) })
      await anvil.setAutomine(false)
      await anvil.setIntervalMining({ interval: 1 })
      try {
        await settleMany(PAYMENTS, devnet, [billing, other])
      } finally {
        await other.close()
      }
    })
  }
})
