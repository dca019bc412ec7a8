import { builtProgram, DEVNET_ACCOUNTS, DEVNET_ROLES, freePort, fundBuyer, ServiceProcess } from '@upfront/devnet'
import { decodePaymentPayload } from '@upfront/protocol'
import type { PaymentPayload } from '@x402/core/types'
import { createTestClient, http } from 'viem'
import { BillingClient, billingVariables } from './support/billing.js'
import { makeRequirements, SELLER, sign } from './support/buyer.js'
import { usdcBalance, useStand } from './support/stand.js'
import { oneStore } from './support/stores.js'
import { until } from './support/until.js'

const PARALLEL = 20

describe.each(oneStore())('one authorization is granted once, on $name', (store) => {
  const test = store.missing === null ? it : it.skip
  const stand = useStand(store)
  const settle = async (payload: PaymentPayload, amount: string) =>
    (await stand.billing.settle(payload, amount)).body as {
      success: boolean
      errorReason?: string
      transaction: string
    }
  const grants = (answers: { success: boolean }[]) => answers.filter(({ success }) => success).length

  test.each(['7000', '0'])('under 20 concurrent and later calls of /settle for an amount of %s', async (amount) => {
    const [payload, before] = [await sign(), await usdcBalance(stand.devnet, SELLER)]
    const answers = await Promise.all(Array.from({ length: PARALLEL }, () => settle(payload, amount)))
    expect(grants(answers)).toBe(1)
    const again = [
      ...answers.filter(({ success }) => !success),
      await settle(payload, amount),
      await settle(payload, '1'),
    ]
    const { invalidReason } = (await stand.billing.verify(payload)).body as { invalidReason: string }
    expect(new Set(again.map(({ errorReason }) => errorReason))).toEqual(new Set([invalidReason]))
    expect(await usdcBalance(stand.devnet, SELLER)).toBe(before + BigInt(amount))
  })

  test.each([
    ['upto', 'permit2'],
    ['exact', 'permit2'],
    ['exact', 'eip3009'],
  ] as const)('if the internal API, /settle and /verify compete for it: %s by %s', async (scheme, method) => {
    const { billing, devnet } = stand
    const payload = await sign(makeRequirements({ scheme, method, maximum: '5000' }))
    const before = await usdcBalance(devnet, SELLER)
    const metered = async () => {
      const result = await billing.authorize(payload)
      if (result.outcome === 'refused') return []
      const { id } = result.payment
      const ends = ['5000', '0', '5001'].map((amount) => billing.charge(id, amount))
      return Promise.all([...ends, billing.release(id, 'cancelled')])
    }
    const calls = [1, 2, 3, 4].flatMap(() => [metered(), settle(payload, '5000'), billing.verify(payload)])
    const answers = (await Promise.all(calls)).flat() as { outcome?: string; success?: boolean }[]
    expect(answers.filter(({ outcome, success }) => outcome === 'done' || success === true)).toHaveLength(1)
    const { nonce } = decodePaymentPayload(payload).authorization
    const { payments } = (await billing.send(`/payments?nonce=${nonce}`)).body as { payments: { charge: string }[] }
    expect(payments).toHaveLength(1)
    expect(await usdcBalance(devnet, SELLER)).toBe(before + BigInt(payments[0]?.charge ?? 0))
  })

  const testOfTwo = store.name === 'Postgres' ? test : it.skip
  testOfTwo('by another process, if the first is killed before it answers', async () => {
    const { devnet, variables, billing } = stand
    const anvil = createTestClient({ mode: 'anvil', transport: http(devnet.rpcUrl) })
    const port = String(await freePort())
    const environment = billingVariables(devnet.rpcUrl, { ...variables, BILLING_PORT: port })
    const killed = new ServiceProcess(
      `http://127.0.0.1:${port}`,
      builtProgram('apps/billing'),
      '/supported',
      environment,
    )
    await killed.start()
    const payload = await sign()
    const { nonce } = decodePaymentPayload(payload).authorization
    await anvil.setAutomine(false)
    const unanswered = new BillingClient(killed.url).settle(payload, '7000').catch(() => null)
    const path = `/payments?payer=${DEVNET_ROLES.buyer.address}&nonce=${nonce}&state=submitted`
    await until(async () => ((await billing.send(path)).body as { payments: unknown[] }).payments.length === 1)
    await killed.kill()
    expect(await unanswered).toBeNull()
    await anvil.setAutomine(true)
    await anvil.mine({ blocks: 1 })
    expect(await settle(payload, '6999')).toMatchObject({ success: false, errorReason: 'permit2_invalid_nonce' })
    expect(grants(await Promise.all([1, 2, 3].map(() => settle(payload, '7000'))))).toBe(1)
    expect(await settle(payload, '7000')).toMatchObject({ success: false, errorReason: 'permit2_invalid_nonce' })
  })

  test('checks the signature for an amount of zero, too', async () => {
    const payload = structuredClone(await sign())
    const other = (await sign()).payload as { signature: string }
    Object.assign(payload.payload, { signature: other.signature })
    expect(await settle(payload, '0')).toMatchObject({ success: false, errorReason: 'invalid_permit2_signature' })
  })

  test('accepts a deadline of at most maxTimeoutSeconds of the offer plus one minute', async () => {
    const buyer = DEVNET_ACCOUNTS[8]!
    await fundBuyer(stand.devnet.rpcUrl, buyer)
    const offered = makeRequirements({ maxTimeoutSeconds: 300 })
    const until = (maxTimeoutSeconds: number) => sign(makeRequirements({ maxTimeoutSeconds }), buyer)
    for (const [seconds, isValid] of [
      [300, true],
      [355, true],
      [400, false],
      [31_536_000, false],
    ] as const) {
      const payload = { ...(await until(seconds)), accepted: offered }
      const { body } = await stand.billing.verify(payload, offered)
      expect(body).toMatchObject(isValid ? { isValid } : { isValid, invalidReason: 'permit2_deadline_too_far' })
      expect((await stand.billing.authorize(payload)).outcome).toBe(isValid ? 'authorized' : 'refused')
    }
  })
})
