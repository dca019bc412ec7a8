import { DEVNET_ROLES, USDC_ADDRESS, usdcAbi } from '@upfront/devnet'
import { billingPath } from '@upfront/protocol'
import { createWalletClient, http, keccak256, parseEther } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { makeRequirements, SELLER, sign } from './support/buyer.js'
import { burnNonce, resend, rpc } from './support/on-chain.js'
import { usdcBalance, useStand } from './support/stand.js'
import { oneStore } from './support/stores.js'
import { until } from './support/until.js'

describe.each(oneStore())('a reorg that drops the block of a settlement, on $name', (store) => {
  const test = store.missing === null ? it : it.skip
  const stand = useStand(store, { settings: null, perTest: true })
  const { anvil, mineOne, describePayment, eventKinds } = stand
  const run = (variables: NodeJS.ProcessEnv) => stand.run({ recoveryMs: '200', ...variables })
  /** Replaces the newest blocks by as many empty ones. */
  const reorg = (depth: number) => anvil().request({ method: 'anvil_reorg', params: [depth, []] } as never)
  /** Wei of gas that the signer has spent, on chain and according to the ledger. */
  const spentGas = async () => {
    const signer = DEVNET_ROLES.facilitators[0].address
    const balance = BigInt(String(await rpc(stand.devnet.rpcUrl, 'eth_getBalance', [signer, 'latest'])))
    const { accounts } = (await stand.billing.send('/accounts')).body as {
      accounts: { account: string; amount: string }[]
    }
    const inLedger = BigInt(accounts.find(({ account }) => account === 'gas')?.amount ?? 0)
    return { onChain: parseEther('10000') - balance, inLedger }
  }
  const untilGasIsRight = () => until(spentGas, ({ onChain, inLedger }) => onChain === inLedger)

  test('before its confirmations: the same signed transaction is resent and settled once', async () => {
    await run({ confirmations: '3' })
    const before = await usdcBalance(stand.devnet, SELLER)
    const { id } = await stand.billing.authorizeNew()
    const { payment } = await stand.billing.charge(id, '800')
    expect(payment.state).toBe('submitted')
    expect(payment.blockNumber).not.toBeNull()
    await reorg(1)
    await until(async () => (await eventKinds(id)).filter((kind) => kind === 'mined').length === 2)
    expect((await stand.billing.payment(id)).state).toBe('submitted')
    await anvil().mine({ blocks: 2 })
    await until(async () => (await stand.billing.payment(id)).state === 'settled')
    expect(await eventKinds(id)).toEqual(['authorized', 'charged', 'submitted', 'mined', 'reorged', 'mined', 'settled'])
    expect((await describePayment(id)).transactions).toMatchObject([{ status: 'mined' }])
    expect(new Set(stand.node.sent).size).toBe(1)
    expect(await usdcBalance(stand.devnet, SELLER)).toBe(before + 800n)
  })

  test('before its confirmations, into a block that the settler sees first: transfer and gas are recorded once', async () => {
    // No recovery round runs.
    await run({ confirmations: '2', recoveryMs: '600000' })
    const { id } = await stand.billing.authorizeNew()
    expect((await stand.billing.charge(id, '800')).payment.blockNumber).not.toBeNull()
    await reorg(1)
    await resend(stand.devnet, stand.node.sent[0] ?? '')
    await until(async () => (await eventKinds(id)).filter((kind) => kind === 'mined').length === 2)
    await mineOne()
    const settled = await until(
      () => stand.billing.payment(id),
      ({ state }) => state === 'settled',
    )
    expect(await eventKinds(id)).toEqual(['authorized', 'charged', 'submitted', 'mined', 'mined', 'settled'])
    const { onChain, inLedger } = await spentGas()
    expect([inLedger, settled.feePaid]).toEqual([onChain, onChain])
    expect((await stand.billing.send('/reconciliation')).body).toMatchObject({ settledPayments: 1, differences: [] })
  })

  test('which brings back a displaced transaction: the cost of its revert is recorded', async () => {
    const ledger = await store.variables()
    await run({ ...ledger, reconcileMs: '300' })
    const { id, nonce } = await stand.billing.authorizeNew()
    await anvil().setAutomine(false)
    await stand.billing.charge(id, '800', { waitMilliseconds: 0 })
    const [raw = ''] = await until(
      async () => stand.node.sent,
      ({ length }) => length > 0,
    )
    stand.node.faultOf = (method) => (method === 'eth_sendRawTransaction' ? 'reset' : undefined)
    await anvil().dropTransaction({ hash: keccak256(raw as `0x${string}`) })
    await anvil().setAutomine(true)
    await burnNonce(stand.devnet, nonce)
    // A seller that waits makes billing look at the newest block.
    const look = () => stand.billing.send(`${billingPath.payment(id)}?waitMilliseconds=1`)
    await until(
      async () => (await stand.billing.payment(id)).state === 'failed',
      Boolean,
      () => Promise.all([look(), mineOne()]),
    )
    // An empty transaction takes its place.
    stand.node.faultOf = undefined
    const status = async () => (await describePayment(id)).transactions[0]?.status
    await until(async () => (await status()) === 'displaced')
    await reorg(1)
    await resend(stand.devnet, raw)
    await until(async () => (await status()) === 'mined')
    const { totals } = (await stand.billing.send('/payments/totals?state=failed')).body as {
      totals: { feePaid: string }[]
    }
    expect(Number(totals[0]?.feePaid)).toBeGreaterThan(0)
    await untilGasIsRight()
    // The next reorganisation drops the revert: it costs nothing then, but an empty transaction in its place does.
    await reorg(1)
    const count = () =>
      rpc(stand.devnet.rpcUrl, 'eth_getTransactionCount', [DEVNET_ROLES.facilitators[0].address, 'latest'])
    expect(Number(await count())).toBe(0)
    await mineOne()
    await until(async () => Number(await count()) === 1, Boolean, mineOne)
    await untilGasIsRight()
    // So does one that drops it while billing is down, deeper than the newest blocks are checked.
    await stand.billing.close()
    for (let depth = 1; Number(await count()) === 1; depth += 1) await reorg(depth)
    await anvil().mine({ blocks: 100 })
    await run({ ...ledger, reconcileMs: '300' })
    await untilGasIsRight()
    await until(async () => Number(await count()) === 1, Boolean, mineOne)
    await untilGasIsRight()
  })

  test('after its confirmations: the payments are reopened, resent and settled', async () => {
    await run({})
    const before = await usdcBalance(stand.devnet, SELLER)
    const ids = [(await stand.billing.authorizeNew()).id, (await stand.billing.authorizeNew()).id] as const
    for (const id of ids) expect((await stand.billing.charge(id, '700')).payment.state).toBe('settled')
    await reorg(2)
    await until(async () => (await eventKinds(ids[1])).includes('reorged'))
    await until(async () => (await usdcBalance(stand.devnet, SELLER)) === before + 1_400n)
    for (const id of ids) {
      await until(async () => (await describePayment(id)).payment.state === 'settled')
      expect(await eventKinds(id)).toEqual(['authorized', 'charged', 'submitted', 'settled', 'reorged', 'settled'])
    }
    expect(new Set(stand.node.sent).size).toBe(2)
    expect(await usdcBalance(stand.devnet, SELLER)).toBe(before + 1_400n)
    const { body } = await stand.billing.send('/reconciliation')
    expect(body).toMatchObject({ settledPayments: 2, differences: [] })
    // The signer's nonces have no gap.
    const next = await stand.billing.authorizeNew()
    expect((await stand.billing.charge(next.id, '1')).payment.state).toBe('settled')
  })

  test('below a later settlement of another signer: the dropped one is resent and settled', async () => {
    const ledger = await store.variables()
    const signers = DEVNET_ROLES.facilitators.slice(0, 2)
    const FACILITATOR_PRIVATE_KEYS = signers.map(({ privateKey }) => privateKey).join(',')
    // No recovery round runs until billing restarts.
    await run({ ...ledger, FACILITATOR_PRIVATE_KEYS, recoveryMs: '600000' })
    const before = await usdcBalance(stand.devnet, SELLER)
    const charge = async (facilitator: string) => {
      const { id } = await stand.billing.authorizeNew(makeRequirements({ facilitator }))
      expect((await stand.billing.charge(id, '700')).payment.state).toBe('settled')
      return id
    }
    const [dropped, kept] = signers.map(({ address }) => address) as [string, string]
    const id = await charge(dropped)
    await reorg(1)
    await charge(kept)
    expect(await usdcBalance(stand.devnet, SELLER)).toBe(before + 700n)
    await stand.billing.close()
    await run({ ...ledger, FACILITATOR_PRIVATE_KEYS })
    await until(async () => (await usdcBalance(stand.devnet, SELLER)) === before + 1_400n)
    await until(async () => (await stand.billing.payment(id)).state === 'settled')
    expect(await eventKinds(id)).toEqual(['authorized', 'charged', 'submitted', 'settled', 'reorged', 'settled'])
  })

  test('while billing is down, deeper than settlements are watched: reconciliation finds it', async () => {
    const ledger = await store.variables()
    await run(ledger)
    const before = await usdcBalance(stand.devnet, SELLER)
    const { id } = await stand.billing.authorizeNew()
    expect((await stand.billing.charge(id, '700')).payment.state).toBe('settled')
    await stand.billing.close()
    await reorg(1)
    await anvil().mine({ blocks: 100 })
    await run({ ...ledger, reconcileMs: '200' })
    await until(async () => (await usdcBalance(stand.devnet, SELLER)) === before + 700n)
    await until(async () => (await stand.billing.payment(id)).state === 'settled')
    expect(await eventKinds(id)).toEqual(['authorized', 'charged', 'submitted', 'settled', 'reorged', 'settled'])
    expect((await stand.billing.send('/metrics')).body).toMatch(/^billing_reorged_settlements_total\{.*\} 1$/m)
    expect((await stand.billing.send('/reconciliation')).body).toMatchObject({ settledPayments: 1, differences: [] })
  })

  test('after which the payer has no tokens: the payment fails, and totals and accounts show it as unpaid', async () => {
    await run({})
    const before = await usdcBalance(stand.devnet, SELLER)
    const { id } = await stand.billing.authorizeNew()
    const snapshot = await anvil().snapshot()
    expect((await stand.billing.charge(id, '700')).payment.state).toBe('settled')
    // On the other branch, the payer moves its tokens first.
    await anvil().revert({ id: snapshot })
    const buyer = privateKeyToAccount(DEVNET_ROLES.buyer.privateKey)
    const all = await usdcBalance(stand.devnet, buyer.address)
    const wallet = createWalletClient({ account: buyer, transport: http(stand.devnet.rpcUrl) })
    const empty = { address: USDC_ADDRESS, abi: usdcAbi, functionName: 'transfer' } as const
    await wallet.writeContract({ chain: null, ...empty, args: [DEVNET_ROLES.facilitators[1].address, all] })
    await until(async () => (await eventKinds(id)).includes('reorged'))
    await until(async () => (await stand.billing.payment(id)).state === 'failed', Boolean, mineOne)
    expect(await eventKinds(id)).toEqual(expect.arrayContaining(['settled', 'reorged', 'failed']))
    expect(await stand.billing.payment(id)).toMatchObject({ reason: 'permit2_insufficient_balance', blockNumber: null })
    expect(await usdcBalance(stand.devnet, SELLER)).toBe(before)
    expect((await stand.billing.send('/payments/totals')).body).toMatchObject({
      totals: [{ settledPayments: 0, settled: '0', failedPayments: 1, failed: '700', pending: '0', openPayments: 0 }],
    })
    expect((await stand.billing.send('/metrics')).body).toMatch(/^billing_settlements_taken_back_total\{.*\} 1$/m)
    expect((await stand.billing.send('/reconciliation')).body).toMatchObject({ settledPayments: 0, differences: [] })
    // Nothing stays reserved, and the payer is refused for a while, whatever its balance.
    const { facilitators, buyer: role } = DEVNET_ROLES
    const back = createWalletClient({
      account: privateKeyToAccount(facilitators[1].privateKey),
      transport: http(stand.devnet.rpcUrl),
    })
    await back.writeContract({ chain: null, ...empty, args: [role.address, 100_000n] })
    expect((await stand.billing.send('/accounts')).body).not.toMatchObject({
      accounts: expect.arrayContaining([
        expect.objectContaining({ account: 'reserved', amount: expect.not.stringMatching(/^0$/) }),
      ]),
    })
    expect(await stand.billing.authorize(await sign())).toMatchObject({ outcome: 'refused', reason: 'payer_refused' })
  })
})
