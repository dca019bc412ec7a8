import { DEVNET_ACCOUNTS, DEVNET_ROLES, fundBuyer } from '@upfront/devnet'
import { runBilling } from './support/billing.js'
import { makeRequirements, SELLER, sign } from './support/buyer.js'
import { transfer } from './support/on-chain.js'
import { type RunningBilling, usdcBalance, useStand } from './support/stand.js'
import { oneStore } from './support/stores.js'
import { until } from './support/until.js'

const buyer = DEVNET_ACCOUNTS[7] ?? DEVNET_ROLES.buyer

describe.each(oneStore())('a payer whose payment was in doubt, on $name', (store) => {
  const test = store.missing === null ? it : it.skip
  /** Another process on the same ledger; the same process on PGlite, which allows only one. */
  let other: RunningBilling
  afterAll(() => other?.close())
  const settings = { recoveryMs: '300', nodeTimeoutMs: '500' }
  const stand = useStand(store, { settings })
  const { anvil } = stand

  beforeAll(async () => {
    if (store.missing !== null) return
    const { billing, node, variables } = stand
    other = store.name === 'Postgres' ? await runBilling(node.url, { ...variables, ...settings }) : billing
  })

  /** Valid for one minute of the chain's time, which may be ahead of the clock. */
  const signNow = async () => {
    const { timestamp } = await anvil().request({ method: 'eth_getBlockByNumber', params: ['latest', false] } as never)
    const ahead = Math.max(Number(timestamp) - Math.floor(Date.now() / 1_000), 0)
    return sign(makeRequirements({ maxTimeoutSeconds: ahead + 60 }), buyer)
  }
  const outcomes = () =>
    Promise.all([stand.billing, other].map(async (one) => (await one.authorize(await signNow())).outcome))

  test('is accepted again by every process as soon as the payment is settled', async () => {
    await fundBuyer(stand.devnet.rpcUrl, buyer, { amount: 100_000n })
    const { id } = await stand.billing.authorizeNew(makeRequirements(), buyer)
    await transfer(stand.devnet, buyer, SELLER, await usdcBalance(stand.devnet, buyer.address))
    expect((await stand.billing.charge(id, '50000')).payment.doubt).toBe('permit2_insufficient_balance')
    expect(await outcomes()).toEqual(['refused', 'refused'])
    // Before three blocks agree, which would make the failure final.
    await transfer(stand.devnet, DEVNET_ROLES.buyer, buyer.address, 1_000_000n)
    await until(async () => (await stand.billing.payment(id)).state === 'settled')
    expect(await outcomes()).toEqual(['authorized', 'authorized'])
  })

  test('is not refused if billing itself sent the transaction too late', async () => {
    const authorized = await stand.billing.authorize(await signNow())
    if (authorized.outcome !== 'authorized') throw new Error(authorized.message)
    const { id } = authorized.payment
    stand.node.faultOf = (method) => (method === 'eth_sendRawTransaction' ? 'reset' : undefined)
    await stand.billing.charge(id, '50000', { waitMilliseconds: 0 })
    await until(async () => (await stand.billing.payment(id)).state === 'submitted')
    await anvil().increaseTime({ seconds: 600 })
    await anvil().mine({ blocks: 1 })
    await until(async () => (await stand.billing.payment(id)).doubt === 'permit2_deadline_expired')
    expect(await outcomes()).toEqual(['authorized', 'authorized'])
    await until(
      async () => (await stand.billing.payment(id)).state === 'failed',
      Boolean,
      () => anvil().mine({ blocks: 1 }),
    )
    expect(await outcomes()).toEqual(['authorized', 'authorized'])
  })
})
