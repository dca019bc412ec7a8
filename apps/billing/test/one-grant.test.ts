import { DEVNET_ACCOUNTS, fundBuyer } from '@upfront/devnet'
import type { PaymentPayload } from '@x402/core/types'
import { makeRequirements, SELLER, sign } from './support/buyer.js'
import { usdcBalance, useStand } from './support/stand.js'
import { oneStore } from './support/stores.js'

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
