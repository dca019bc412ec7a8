import { DEVNET_ROLES, type Devnet, type FaultProxy, startDevnet, startFaultProxy } from '@upfront/devnet'
import { createTestClient, createWalletClient, http } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { runBilling } from './support/billing.js'
import { sign } from './support/buyer.js'
import { burnNonce, resend, settleElsewhere } from './support/on-chain.js'
import type { RunningBilling } from './support/stand.js'
import { oneStore } from './support/stores.js'
import { until } from './support/until.js'

/** More than settlements and failures are watched for; anvil's `finalized` is 64 below its head. */
const DEEP = 70

describe.each(oneStore())('reconciliation by itself, on $name', (store) => {
  const test = store.missing === null ? it : it.skip
  let devnet: Devnet
  let node: FaultProxy
  let billing: RunningBilling
  const anvil = () => createTestClient({ mode: 'anvil', transport: http(devnet.rpcUrl) })
  const mine = (blocks: number) => anvil().mine({ blocks })
  const metrics = async () => String((await billing.send('/metrics')).body)

  beforeAll(async () => {
    if (store.missing !== null) return console.warn(`skipped: ${store.missing}`)
    await store.start()
    devnet = await startDevnet()
    node = await startFaultProxy(devnet.rpcUrl)
    const quick = { RECOVERY_INTERVAL_MS: '200', RECONCILE_INTERVAL_MS: '100' }
    billing = await runBilling(node.url, { ...quick, ...(await store.variables()) })
  })
  afterAll(async () => {
    await billing?.close()
    await node?.stop()
    await devnet?.stop()
    await store.stop()
  })

  test('follows the final blocks, and tells a settlement that the ledger does not know', async () => {
    const { id } = await billing.authorizeNew()
    expect((await billing.charge(id, '700')).payment.state).toBe('settled')
    await settleElsewhere(devnet, await sign(), 5n)
    await mine(DEEP)
    const line = /^billing_reconciliation_differences_total\{network="eip155:31337",kind="not in ledger"\} 1$/m
    await until(async () => line.test(await metrics()))
    expect(await metrics()).not.toMatch(/kind="(missing on chain|moved but not settled)"/)
    await until(async () => /^billing_reconciled_block\{.*\} [1-9]/m.test(await metrics()))
    await until(async () => /^billing_gas_spent_day_wei\{.*\} [1-9]/m.test(await metrics()))
    expect(await metrics()).toMatch(/^billing_received_day_units\{.*\} 700$/m)
    expect(await metrics()).toMatch(/^billing_signer_hours_left\{.*\} [1-9]/m)
  })

  test('settles a payment that failed long ago, when its transfer is found', async () => {
    await anvil().setAutomine(false)
    const { id, nonce } = await billing.authorizeNew()
    const before = node.sent.length
    await billing.charge(id, '700', { waitMilliseconds: 0 })
    await until(async () => node.sent.length > before)
    node.faultOf = (method) => (method === 'eth_sendRawTransaction' ? 'reset' : undefined)
    const { transaction } = await billing.payment(id)
    await anvil().dropTransaction({ hash: transaction ?? '0x' })
    const snapshot = await anvil().snapshot()
    await burnNonce(devnet, nonce)
    const account = privateKeyToAccount(DEVNET_ROLES.facilitators[0].privateKey)
    const wallet = createWalletClient({ account, transport: http(devnet.rpcUrl) })
    await wallet.sendTransaction({ chain: null, to: account.address, value: 1n })
    await until(
      async () => (await billing.payment(id)).state === 'failed',
      Boolean,
      () => mine(1),
    )
    await anvil().revert({ id: snapshot })
    // So deep that failures of back then are not watched any more.
    await mine(DEEP)
    await resend(devnet, node.sent[before] ?? '')
    await mine(DEEP)
    await until(
      async () => (await billing.payment(id)).state === 'settled',
      Boolean,
      () => mine(1),
    )
    expect(await billing.payment(id)).toMatchObject({ charge: 700n, transaction, reason: null })
  })
})
