import {
  DEVNET_ROLES,
  type Devnet,
  type FaultProxy,
  startDevnet,
  startFaultProxy,
  USDC_ADDRESS,
  usdcAbi,
} from '@upfront/devnet'
import type { Payment } from '@upfront/protocol'
import { createPublicClient, createTestClient, createWalletClient, http, parseAbi } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { type BillingClient, runBilling } from './support/billing.js'
import { makeRequirements, SELLER, sign } from './support/buyer.js'
import { stores } from './support/stores.js'
import { until } from './support/until.js'

type RunningBilling = BillingClient & { close(): Promise<void> }

const PERMIT2 = '0x000000000022D473030F116dDEE9F6B43aC78BA3'
const quick = { RECOVERY_INTERVAL_MS: '200', NODE_TIMEOUT_MS: '1000' }

describe.each(stores())('when the chain or its node misbehaves, on $name', (store) => {
  const test = store.missing === null ? it : it.skip
  let devnet: Devnet
  let node: FaultProxy
  let variables: NodeJS.ProcessEnv
  let billing: RunningBilling
  const running: RunningBilling[] = []
  const rejections: unknown[] = []
  const onRejection = (error: unknown) => rejections.push(error)

  const run = async (more: NodeJS.ProcessEnv = {}) => {
    const started = await runBilling(node.url, { ...quick, ...variables, ...more })
    running.push(started)
    return started
  }
  const anvil = () => createTestClient({ mode: 'anvil', transport: http(devnet.rpcUrl) })
  const balanceOf = (address: `0x${string}`) =>
    createPublicClient({ transport: http(devnet.rpcUrl) }).readContract({
      address: USDC_ADDRESS,
      abi: usdcAbi,
      functionName: 'balanceOf',
      args: [address],
    })
  const untilState = (id: string, state: Payment['state'], between?: () => Promise<unknown>): Promise<Payment> =>
    until(
      () => billing.payment(id),
      (payment) => payment.state === state,
      between,
    )
  /** Some things are only believed some blocks deep. */
  const mineOne = () => anvil().mine({ blocks: 1 })
  const eventsOf = async (id: string) => {
    const { body } = await billing.send(`/payments/${id}`)
    return (body as { events: { kind: string }[] }).events.map(({ kind }) => kind)
  }

  beforeAll(async () => {
    if (store.missing !== null) return console.warn(`skipped: ${store.missing}`)
    process.on('unhandledRejection', onRejection)
    await store.start()
  })
  beforeEach(async () => {
    if (store.missing !== null) return
    devnet = await startDevnet()
    node = await startFaultProxy(devnet.rpcUrl)
    variables = await store.variables()
    billing = await run()
  })
  afterEach(async () => {
    for (const started of running.splice(0)) await started.close()
    await node?.stop()
    await devnet?.stop()
    expect(rejections.splice(0)).toEqual([])
  })
  afterAll(async () => {
    process.off('unhandledRejection', onRejection)
    await store.stop()
  })

  test('a node that answers 429 makes verification unavailable, never invalid, and ends nothing', async () => {
    const payload = await sign()
    const wrongSpender = structuredClone(payload)
    Object.assign((wrongSpender.payload as { permit2Authorization: object }).permit2Authorization, { spender: SELLER })
    for (const failing of ['eth_getCode', 'eth_call']) {
      node.faultOf = (method) => (method === failing ? 'http-429' : undefined)
      const { status, headers, body } = await billing.verify(payload)
      expect({ status, body }).toMatchObject({ status: 503, body: { error: { code: 'unavailable' } } })
      expect(headers.get('retry-after')).toBe('1')
      // The library begins to read the token's code, and returns for another reason before it looks at the answer.
      const { body: verdict } = await billing.verify(wrongSpender)
      expect(verdict).not.toMatchObject({ isValid: true })
    }
    node.faultOf = undefined
    expect((await billing.verify(payload)).body).toMatchObject({ isValid: true })
  })

  test('a node that takes a transaction and cuts the connection does not make it sent twice', async () => {
    node.faultOf = (method) => (method === 'eth_sendRawTransaction' ? 'reset-after' : undefined)
    const before = await balanceOf(SELLER)
    const { id } = await billing.authorizeNew()
    expect((await billing.charge(id, '1234')).payment.state).toBe('settled')
    expect(new Set(node.sent).size).toBe(1)
    expect(await balanceOf(SELLER)).toBe(before + 1_234n)
  })

  test('a charge that the node can not take is stored, said to be pending, and settled later', async () => {
    const { id } = await billing.authorizeNew()
    node.faultOf = () => 'http-429'
    const { payment } = await billing.charge(id, '1234', { waitMilliseconds: 300 })
    expect(payment).toMatchObject({ state: 'charging', charge: 1_234n, transaction: null })
    node.faultOf = undefined
    expect(await untilState(id, 'settled')).toMatchObject({ charge: 1_234n })
  })

  test('a transaction that is not mined is pending for x402 sellers, and settled when asked again', async () => {
    await anvil().setAutomine(false)
    const impatient = await run({ RECEIPT_WAIT_MS: '300', ...(store.name === 'PGlite' ? {} : await store.variables()) })
    const payload = await sign()
    const settle = async () => (await impatient.settle(payload, '500')).body as Record<string, unknown>
    let answer = await settle()
    expect(answer).toMatchObject({ success: false, errorReason: 'settlement_pending' })
    // On a busy machine nothing may be signed yet when the first answer is due.
    while (answer.transaction === '') answer = await settle()
    const { transaction } = answer
    expect(transaction).toMatch(/^0x[0-9a-f]{64}$/)
    await anvil().mine({ blocks: 1 })
    await anvil().setAutomine(true)
    while (answer.errorReason === 'settlement_pending') answer = await settle()
    expect(answer).toMatchObject({ success: true, transaction, amount: '500' })
  })

  test('a stuck transaction is replaced by one with a higher fee', async () => {
    await billing.close()
    billing = await run({ FEE_BUMP_MS: '500' })
    await anvil().setAutomine(false)
    const { id } = await billing.authorizeNew()
    await billing.charge(id, '900', { waitMilliseconds: 0 })
    await until(async () => (await eventsOf(id)).includes('fee raised'))
    const { transaction } = await billing.payment(id)
    await anvil().mine({ blocks: 1 })
    expect(await untilState(id, 'settled')).toMatchObject({ charge: 900n })
    expect(transaction).not.toBeNull()
    expect(await eventsOf(id)).toContain('fee raised')
  })

  test('a payment is settled after its confirmations, and comes back from a reorg', async () => {
    await billing.close()
    billing = await run({ CONFIRMATIONS: '3' })
    const { id } = await billing.authorizeNew()
    const snapshot = await anvil().snapshot()
    const { payment } = await billing.charge(id, '800')
    expect(payment.state).toBe('submitted')
    expect(payment.blockNumber).not.toBeNull()
    await anvil().revert({ id: snapshot })
    await anvil().mine({ blocks: 1 })
    await until(async () => (await eventsOf(id)).filter((kind) => kind === 'mined').length > 1)
    await anvil().mine({ blocks: 2 })
    await untilState(id, 'settled')
    expect(await billing.payment(id)).toMatchObject({ state: 'settled', charge: 800n })
    expect(await eventsOf(id)).toEqual(expect.arrayContaining(['mined', 'reorged', 'settled']))
  })

  test('a payer who empties the account after the handler ran is a failed payment with its reason', async () => {
    const { id } = await billing.authorizeNew()
    const wallet = createWalletClient({
      account: privateKeyToAccount(DEVNET_ROLES.buyer.privateKey),
      transport: http(devnet.rpcUrl),
    })
    const all = await balanceOf(DEVNET_ROLES.buyer.address)
    await wallet.writeContract({
      chain: null,
      address: USDC_ADDRESS,
      abi: usdcAbi,
      functionName: 'transfer',
      args: [SELLER, all],
    })
    const { payment } = await billing.charge(id, '700', { waitMilliseconds: 500 })
    expect(payment).toMatchObject({ state: 'charging', transaction: null })
    expect(await untilState(id, 'failed', mineOne)).toMatchObject({
      reason: 'permit2_insufficient_balance',
      charge: 700n,
      transaction: null,
    })
  })

  test('a payer who burns the nonce after the handler ran is a failed payment with its reason', async () => {
    const { id, nonce } = await billing.authorizeNew()
    const wallet = createWalletClient({
      account: privateKeyToAccount(DEVNET_ROLES.buyer.privateKey),
      transport: http(devnet.rpcUrl),
    })
    await wallet.writeContract({
      chain: null,
      address: PERMIT2,
      abi: parseAbi(['function invalidateUnorderedNonces(uint256 wordPos, uint256 mask)']),
      functionName: 'invalidateUnorderedNonces',
      args: [nonce >> 8n, 1n << (nonce & 0xffn)],
    })
    await billing.charge(id, '700', { waitMilliseconds: 0 })
    expect(await untilState(id, 'failed', mineOne)).toMatchObject({ reason: 'permit2_nonce_invalidated' })
  })

  test('a nonce that the signer spent elsewhere does not stop settlements', async () => {
    const account = privateKeyToAccount(DEVNET_ROLES.facilitators[0].privateKey)
    const wallet = createWalletClient({ account, transport: http(devnet.rpcUrl) })
    await wallet.sendTransaction({ chain: null, to: SELLER, value: 1n })
    const { id } = await billing.authorizeNew()
    await billing.charge(id, '600', { waitMilliseconds: 500 })
    await untilState(id, 'settled', mineOne)
  })

  test('an authorization that nobody charged expires, and stays used', async () => {
    const payload = await sign(makeRequirements({ maxTimeoutSeconds: 600 }))
    const authorized = await billing.authorize(payload)
    if (authorized.outcome !== 'authorized') throw new Error(authorized.reason)
    await anvil().increaseTime({ seconds: 700 })
    await anvil().mine({ blocks: 1 })
    expect(await untilState(authorized.payment.id, 'expired')).toMatchObject({ charge: null })
    expect(await billing.charge(authorized.payment.id, '1')).toMatchObject({ outcome: 'refused' })
    expect(await billing.authorize(payload)).toMatchObject({ outcome: 'refused' })
  })

  test('a settlement that the same key made elsewhere is found by its transfer', async () => {
    const payload = await sign()
    const authorized = await billing.authorize(payload)
    if (authorized.outcome !== 'authorized') throw new Error(authorized.reason)
    const elsewhere = await runBilling(devnet.rpcUrl)
    running.push(elsewhere)
    const { transaction } = (await elsewhere.settle(payload, '555')).body as { transaction: string }
    await billing.charge(authorized.payment.id, '555', { waitMilliseconds: 0 })
    expect(await untilState(authorized.payment.id, 'settled', mineOne)).toMatchObject({ transaction, charge: 555n })
  })
})
