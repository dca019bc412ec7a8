import { DEVNET_ROLES } from '@upfront/devnet'
import type { PaymentPayload } from '@x402/core/types'
import { createWalletClient, http, keccak256 } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { makeRequirements, SELLER, sign } from './support/buyer.js'
import { burnNonce, fetchHead, resend, settleElsewhere, transfer } from './support/on-chain.js'
import { usdcBalance, useStand } from './support/stand.js'
import { oneStore } from './support/stores.js'
import { until } from './support/until.js'

describe.each(oneStore())('a node with stale or missing data, on $name', (store) => {
  const test = store.missing === null ? it : it.skip
  const stand = useStand(store, { settings: null, perTest: true })
  const { anvil, mineOne, eventKinds } = stand
  const run = (variables: NodeJS.ProcessEnv = {}) => stand.run({ recoveryMs: '200', ...variables })
  const head = () => fetchHead(stand.devnet)

  test('keeps a payment submitted while the receipt lags behind state, then settles it', async () => {
    await run()
    const before = await usdcBalance(stand.devnet, SELLER)
    const { id } = await stand.billing.authorizeNew()
    stand.node.indexedUpTo = await head()
    await stand.billing.charge(id, '700', { waitMilliseconds: 0 })
    await until(async () => (await usdcBalance(stand.devnet, SELLER)) === before + 700n)
    // Transaction count and nonce bitmap show it as spent, deep below the head; the receipt is missing.
    await anvil().mine({ blocks: 10 })
    stand.node.reset()
    await until(async () => (stand.node.stats.byMethod.eth_getBlockReceipts ?? 0) > 3)
    expect(await stand.billing.payment(id)).toMatchObject({ state: 'submitted' })
    stand.node.indexedUpTo = undefined
    await until(async () => (await stand.billing.payment(id)).state === 'settled')
    expect(await eventKinds(id)).toEqual(['authorized', 'charged', 'submitted', 'settled'])
    expect(new Set(stand.node.sent).size).toBe(1)
  })

  test('does not fail a charge because of one stale balance', async () => {
    await run()
    const { id } = await stand.billing.authorizeNew()
    const buyer = privateKeyToAccount(DEVNET_ROLES.buyer.privateKey)
    // The payer had no tokens for one block before the charge, and a stale node still shows that block.
    const all = await usdcBalance(stand.devnet, buyer.address)
    await transfer(stand.devnet, DEVNET_ROLES.buyer, DEVNET_ROLES.facilitators[1].address, all)
    const poor = await head()
    await transfer(stand.devnet, DEVNET_ROLES.facilitators[1], buyer.address, all)
    stand.node.cap = poor
    await stand.billing.charge(id, '700', { waitMilliseconds: 0 })
    stand.node.reset()
    await until(async () => (stand.node.stats.byMethod.eth_call ?? 0) > 20)
    expect((await stand.billing.payment(id)).state).toBe('charging')
    stand.node.cap = undefined
    await until(async () => (await stand.billing.payment(id)).state === 'settled')
  })

  test('settles a failed payment once its transfer is found', async () => {
    await run()
    const before = await usdcBalance(stand.devnet, SELLER)
    await anvil().setAutomine(false)
    const { id } = await stand.billing.authorizeNew()
    await stand.billing.charge(id, '700', { waitMilliseconds: 0 })
    await until(async () => stand.node.sent.length > 0)
    stand.node.faultOf = (method) => (method === 'eth_sendRawTransaction' ? 'reset' : undefined)
    const { nonce, transaction } = await stand.billing.payment(id)
    await anvil().dropTransaction({ hash: transaction ?? '0x' })
    const snapshot = await anvil().snapshot()
    // On this branch the payer's nonce is burnt and the signer's spent elsewhere, deep below the head.
    await burnNonce(stand.devnet, nonce)
    const account = privateKeyToAccount(DEVNET_ROLES.facilitators[0].privateKey)
    const wallet = createWalletClient({ account, transport: http(stand.devnet.rpcUrl) })
    await wallet.sendTransaction({ chain: null, to: SELLER, value: 1n })
    await until(async () => (await stand.billing.payment(id)).state === 'failed', Boolean, mineOne)
    await anvil().revert({ id: snapshot })
    await resend(stand.devnet, stand.node.sent[0] ?? '')
    await anvil().mine({ blocks: 10 })
    await until(async () => (await stand.billing.payment(id)).state === 'settled')
    expect(await stand.billing.payment(id)).toMatchObject({ state: 'settled', charge: 700n })
    expect(await eventKinds(id)).toEqual(['authorized', 'charged', 'submitted', 'failed', 'settled'])
    expect(await usdcBalance(stand.devnet, SELLER)).toBe(before + 700n)
    expect((await stand.billing.send('/reconciliation')).body).toMatchObject({ settledPayments: 1, differences: [] })
  })

  test('fails with transfer_event_mismatch if the nonce was spent elsewhere for another amount', async () => {
    await run({ confirmations: '3' })
    const payload = await sign(makeRequirements())
    const authorized = await stand.billing.authorize(payload)
    if (authorized.outcome !== 'authorized') throw new Error(authorized.reason)
    const { id } = authorized.payment
    await settleElsewhere(stand.devnet, payload, 1n)
    const { payment } = await stand.billing.charge(id, '700', { waitMilliseconds: 500 })
    expect(payment).toMatchObject({ state: 'charging', blockNumber: null })
    await until(async () => (await stand.billing.payment(id)).state === 'failed', Boolean, mineOne)
    expect(await stand.billing.payment(id)).toMatchObject({ reason: 'transfer_event_mismatch', charge: 700n })
    expect(await eventKinds(id)).not.toContain('mined')
  })

  describe('a nonce that was used while billing was down, on a node that has pruned that state', () => {
    /** Runs `act` while billing is down. Returns a submitted payment, which the restarted billing looks after. */
    async function awayWhile(act: (payload: PaymentPayload, nonce: bigint) => Promise<void>): Promise<string> {
      const variables = { ...(await store.variables()), reconcileMs: '100' }
      await run(variables)
      await anvil().setAutomine(false)
      const payload = await sign(makeRequirements())
      const authorized = await stand.billing.authorize(payload)
      if (authorized.outcome !== 'authorized') throw new Error(authorized.reason)
      const { id, nonce } = authorized.payment
      await stand.billing.charge(id, '700', { waitMilliseconds: 0 })
      await until(async () => stand.node.sent.length > 0)
      await stand.billing.close()
      await anvil().dropTransaction({ hash: keccak256(stand.node.sent[0] as `0x${string}`) })
      await anvil().setAutomine(true)
      await act(payload, nonce)
      // More than `finalized` is below the head.
      await anvil().mine({ blocks: 80 })
      const pruned = (await head()) - 8n
      stand.node.lacksState = ({ method, params = [] }) =>
        method === 'eth_call' &&
        typeof params[1] === 'string' &&
        params[1].startsWith('0x') &&
        BigInt(params[1]) < pruned
      await run(variables)
      return id
    }

    test('fails its payment at the deadline if the payer burned it', async () => {
      const id = await awayWhile((_, nonce) => burnNonce(stand.devnet, nonce))
      await anvil().increaseTime({ seconds: 1_000 })
      await until(async () => (await stand.billing.payment(id)).state === 'failed', Boolean, mineOne)
      expect(await stand.billing.payment(id)).toMatchObject({ reason: 'permit2_nonce_invalidated' })
    })

    test('settles its payment if a settlement used it', async () => {
      const id = await awayWhile((payload) => settleElsewhere(stand.devnet, payload, 700n))
      await until(async () => (await stand.billing.payment(id)).state === 'settled')
      expect((await stand.billing.send('/reconciliation')).body).toMatchObject({ settledPayments: 1, differences: [] })
    })
  })
})
