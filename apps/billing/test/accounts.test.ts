import { DEVNET_ACCOUNTS, DEVNET_ROLES, fundBuyer } from '@upfront/devnet'
import { createPublicClient, http } from 'viem'
import { makeRequirements, SELLER, sign } from './support/buyer.js'
import { burnNonce, rpc, settleElsewhere } from './support/on-chain.js'
import { usdcBalance, useStand } from './support/stand.js'
import { stores } from './support/stores.js'
import { until } from './support/until.js'

interface Account {
  asset: string
  account: string
  amount: string
}

describe.each(stores())('the accounts of the ledger, on $name', (store) => {
  const test = store.missing === null ? it : it.skip
  const stand = useStand(store, { settings: { recoveryMs: '200' } })
  const { anvil, mineOne, eventKinds } = stand
  const signer = DEVNET_ROLES.facilitators[0].address
  const nativeBalance = () =>
    createPublicClient({ transport: http(stand.devnet.rpcUrl) }).getBalance({ address: signer, blockTag: 'latest' })
  const accounts = async () => {
    const { accounts } = (await stand.billing.send('/accounts')).body as { accounts: Account[] }
    const sums = new Map<string, bigint>()
    for (const { asset, amount } of accounts) sums.set(asset, (sums.get(asset) ?? 0n) + BigInt(amount))
    for (const [asset, sum] of sums) expect({ asset, sum }).toEqual({ asset, sum: 0n })
    return Object.fromEntries(accounts.map(({ account, amount }) => [account, BigInt(amount)]))
  }

  test('match the tokens received and gas spent on chain through charges, failures, reverts and reorgs', async () => {
    const [tokens, native] = [await usdcBalance(stand.devnet, SELLER), await nativeBalance()]
    const isTrue = async () => {
      const { received = 0n, gas = 0n } = await accounts()
      const moved = (await usdcBalance(stand.devnet, SELLER)) - tokens
      return received === moved && gas === native - (await nativeBalance())
    }

    const burner = DEVNET_ACCOUNTS[9]!
    await fundBuyer(stand.devnet.rpcUrl, burner)
    const first = await stand.billing.authorizeNew()
    expect(await accounts()).toMatchObject({ promised: -100_000n, reserved: 100_000n })
    expect((await stand.billing.charge(first.id, '700')).payment.state).toBe('settled')
    expect(await accounts()).toMatchObject({ promised: -700n, reserved: 0n, receivable: 0n, received: 700n })
    expect(await isTrue()).toBe(true)

    // The nonce is spent elsewhere for 1 unit: that unit counts as received, the rest is written off.
    const payload = await sign()
    const elsewhere = await stand.billing.authorize(payload)
    if (elsewhere.outcome !== 'authorized') throw new Error(elsewhere.reason)
    await settleElsewhere(stand.devnet, payload, 1n)
    await stand.billing.charge(elsewhere.payment.id, '50', { waitMilliseconds: 0 })
    await until(async () => (await stand.billing.payment(elsewhere.payment.id)).state === 'failed', Boolean, mineOne)
    expect(await accounts()).toMatchObject({ receivable: 0n, received: 701n, 'written off': 49n })
    expect(await isTrue()).toBe(true)

    // The payer burns the nonce before the node accepts our transaction: it reverts, and still costs gas.
    stand.node.faultOf = (method) => (method === 'eth_sendRawTransaction' ? 'reset' : undefined)
    const reverting = await stand.billing.authorizeNew(makeRequirements(), burner)
    await stand.billing.charge(reverting.id, '30', { waitMilliseconds: 0 })
    const { transaction } = await until(
      () => stand.billing.payment(reverting.id),
      (payment) => payment.transaction !== null,
    )
    await burnNonce(stand.devnet, reverting.nonce, burner)
    stand.node.faultOf = undefined
    await until(async () => (await rpc(stand.devnet.rpcUrl, 'eth_getTransactionReceipt', [transaction])) !== null)
    await until(async () => (await stand.billing.payment(reverting.id)).state === 'failed', Boolean, mineOne)
    expect(await stand.billing.payment(reverting.id)).toMatchObject({ reason: 'permit2_nonce_invalidated' })
    expect((await stand.billing.payment(reverting.id)).gasUsed).toBeGreaterThan(0n)
    expect(await accounts()).toMatchObject({ receivable: 0n, received: 701n, 'written off': 79n })
    expect(await isTrue()).toBe(true)

    const moved = await stand.billing.authorizeNew()
    expect((await stand.billing.charge(moved.id, '9')).payment.state).toBe('settled')
    await anvil().request({ method: 'anvil_reorg', params: [1, []] } as never)
    await until(async () => (await eventKinds(moved.id)).includes('reorged'))
    await until(async () => (await stand.billing.payment(moved.id)).state === 'settled')
    expect(await accounts()).toMatchObject({ received: 710n })
    expect(await isTrue()).toBe(true)

    // The gas of a route includes that of its failed payments.
    const { totals } = (await stand.billing.send('/payments/totals')).body as { totals: { feePaid: string }[] }
    const total = totals.reduce((sum, { feePaid }) => sum + BigInt(feePaid), 0n)
    expect(total).toBe((await accounts()).gas)
  })
})
