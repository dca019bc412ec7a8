import {
  DEVNET_ACCOUNTS,
  DEVNET_ROLES,
  type Devnet,
  type FaultProxy,
  fundBuyer,
  startDevnet,
  startFaultProxy,
} from '@upfront/devnet'
import { createPublicClient, createTestClient, http } from 'viem'
import { runBilling } from './support/billing.js'
import { makeRequirements, SELLER, sign } from './support/buyer.js'
import { burnNonce, rpc, settleElsewhere } from './support/on-chain.js'
import { type RunningBilling, usdcBalance } from './support/stand.js'
import { stores } from './support/stores.js'
import { until } from './support/until.js'

interface Account {
  asset: string
  account: string
  amount: string
}

describe.each(stores())('the accounts of the ledger, on $name', (store) => {
  const test = store.missing === null ? it : it.skip
  let devnet: Devnet
  let node: FaultProxy
  let billing: RunningBilling
  const signer = DEVNET_ROLES.facilitators[0].address

  const anvil = () => createTestClient({ mode: 'anvil', transport: http(devnet.rpcUrl) })
  const mineOne = () => anvil().mine({ blocks: 1 })
  const nativeBalance = () =>
    createPublicClient({ transport: http(devnet.rpcUrl) }).getBalance({ address: signer, blockTag: 'latest' })
  const kinds = async (id: string) => {
    const { body } = await billing.send(`/payments/${id}`)
    return (body as { events: { kind: string }[] }).events.map(({ kind }) => kind)
  }
  const accounts = async () => {
    const { accounts } = (await billing.send('/accounts')).body as { accounts: Account[] }
    const sums = new Map<string, bigint>()
    for (const { asset, amount } of accounts) sums.set(asset, (sums.get(asset) ?? 0n) + BigInt(amount))
    for (const [asset, sum] of sums) expect({ asset, sum }).toEqual({ asset, sum: 0n })
    return Object.fromEntries(accounts.map(({ account, amount }) => [account, BigInt(amount)]))
  }

  beforeAll(async () => {
    if (store.missing !== null) return console.warn(`skipped: ${store.missing}`)
    await store.start()
    devnet = await startDevnet()
    node = await startFaultProxy(devnet.rpcUrl)
    billing = await runBilling(node.url, { recoveryMs: '200', ...(await store.variables()) })
  })
  afterAll(async () => {
    await billing?.close()
    await node?.stop()
    await devnet?.stop()
    await store.stop()
  })

  test('match the tokens received and gas spent on chain through charges, failures, reverts and reorgs', async () => {
    const [tokens, native] = [await usdcBalance(devnet, SELLER), await nativeBalance()]
    const isTrue = async () => {
      const { received = 0n, gas = 0n } = await accounts()
      const moved = (await usdcBalance(devnet, SELLER)) - tokens
      return received === moved && gas === native - (await nativeBalance())
    }

    const burner = DEVNET_ACCOUNTS[9]!
    await fundBuyer(devnet.rpcUrl, burner)
    const first = await billing.authorizeNew()
    expect(await accounts()).toMatchObject({ promised: -100_000n, reserved: 100_000n })
    expect((await billing.charge(first.id, '700')).payment.state).toBe('settled')
    expect(await accounts()).toMatchObject({ promised: -700n, reserved: 0n, receivable: 0n, received: 700n })
    expect(await isTrue()).toBe(true)

    // The nonce is spent elsewhere for 1 unit: that unit counts as received, the rest is written off.
    const payload = await sign()
    const elsewhere = await billing.authorize(payload)
    if (elsewhere.outcome !== 'authorized') throw new Error(elsewhere.reason)
    await settleElsewhere(devnet, payload, 1n)
    await billing.charge(elsewhere.payment.id, '50', { waitMilliseconds: 0 })
    await until(async () => (await billing.payment(elsewhere.payment.id)).state === 'failed', Boolean, mineOne)
    expect(await accounts()).toMatchObject({ receivable: 0n, received: 701n, 'written off': 49n })
    expect(await isTrue()).toBe(true)

    // The payer burns the nonce before the node accepts our transaction: it reverts, and still costs gas.
    node.faultOf = (method) => (method === 'eth_sendRawTransaction' ? 'reset' : undefined)
    const reverting = await billing.authorizeNew(makeRequirements(), burner)
    await billing.charge(reverting.id, '30', { waitMilliseconds: 0 })
    const { transaction } = await until(
      () => billing.payment(reverting.id),
      (payment) => payment.transaction !== null,
    )
    await burnNonce(devnet, reverting.nonce, burner)
    node.faultOf = undefined
    await until(async () => (await rpc(devnet.rpcUrl, 'eth_getTransactionReceipt', [transaction])) !== null)
    await until(async () => (await billing.payment(reverting.id)).state === 'failed', Boolean, mineOne)
    expect(await billing.payment(reverting.id)).toMatchObject({ reason: 'permit2_nonce_invalidated' })
    expect((await billing.payment(reverting.id)).gasUsed).toBeGreaterThan(0n)
    expect(await accounts()).toMatchObject({ receivable: 0n, received: 701n, 'written off': 79n })
    expect(await isTrue()).toBe(true)

    const moved = await billing.authorizeNew()
    expect((await billing.charge(moved.id, '9')).payment.state).toBe('settled')
    await anvil().request({ method: 'anvil_reorg', params: [1, []] } as never)
    await until(async () => (await kinds(moved.id)).includes('reorged'))
    await until(async () => (await billing.payment(moved.id)).state === 'settled')
    expect(await accounts()).toMatchObject({ received: 710n })
    expect(await isTrue()).toBe(true)

    // The gas of a route includes that of its failed payments.
    const { totals } = (await billing.send('/payments/totals')).body as { totals: { feePaid: string }[] }
    const total = totals.reduce((sum, { feePaid }) => sum + BigInt(feePaid), 0n)
    expect(total).toBe((await accounts()).gas)
  })
})
