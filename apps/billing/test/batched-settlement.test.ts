import { DEVNET_ACCOUNTS, DEVNET_ROLES, fundBuyer } from '@upfront/devnet'
import { createLogger } from '@upfront/service'
import { Client } from 'pg'
import { parseEther, parseTransaction } from 'viem'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import {
  CREATE2_DEPLOYER,
  DELEGATED_CODE,
  EARLIER_DELEGATED_CODES,
  SETTLEMENT_BATCH,
} from '../src/chain/settlement-batch.js'
import { runBilling } from './support/billing.js'
import { makeRequirements, SELLER } from './support/buyer.js'
import { burnNonce, fetchHead, rpc } from './support/on-chain.js'
import { usdcBalance, useStand } from './support/stand.js'
import { oneStore } from './support/stores.js'
import { until } from './support/until.js'

const [SIGNER, OTHER] = DEVNET_ROLES.facilitators

describe.each(oneStore())('SETTLEMENT=batch, on $name', (store) => {
  const test = store.missing === null ? it : it.skip
  const stand = useStand(store, {
    settings: { SETTLEMENT: 'batch', batchIntervalMs: '0', batchSize: '20', recoveryMs: '200', feeBumpMs: '3000' },
  })
  const { anvil, mineOne, describePayment, untilState } = stand
  /** Counts nonces: on a busy machine a transaction may be replaced before it is mined. */
  const countSent = () => new Set(stand.node.sent.map((raw) => parseTransaction(raw as `0x02${string}`).nonce)).size
  const authorize = () => stand.billing.authorizeNew(makeRequirements({ maximum: '1000' }))
  /** Charges without waiting for settlement. Returns the payment IDs. */
  const charge = async (amounts: readonly number[]) => {
    const ids: string[] = []
    for (const amount of amounts) {
      const { id } = await authorize()
      await stand.billing.charge(id, String(amount), { waitMilliseconds: 0 })
      ids.push(id)
    }
    return ids
  }
  const untilSubmitted = (ids: string[]) => Promise.all(ids.map((id) => untilState(id, 'submitted')))
  const settleAll = (ids: string[]) => Promise.all(ids.map((id) => untilState(id, 'settled', mineOne)))

  beforeAll(async () => {
    if (store.missing === null) await anvil().setAutomine(false)
  })
  beforeEach(() => stand.node?.reset())

  test('delegates the signer on the first charge, and settles 12 charges in one transaction', async () => {
    const before = await usdcBalance(stand.devnet, SELLER)
    const ids = await charge(Array.from({ length: 12 }, (_, index) => index + 1))
    await until(async () => countSent() === 1)
    await mineOne()
    await untilSubmitted(ids)
    expect(await rpc(stand.devnet.rpcUrl, 'eth_getCode', [SIGNER.address, 'latest'])).toBe(DELEGATED_CODE)
    expect(countSent()).toBe(2)
    await mineOne()
    const settled = await settleAll(ids)
    expect(new Set(settled.map(({ transaction }) => transaction)).size).toBe(1)
    expect(await usdcBalance(stand.devnet, SELLER)).toBe(before + 78n)
    const { transaction } = settled[0]!
    const receipt = (await rpc(stand.devnet.rpcUrl, 'eth_getTransactionReceipt', [transaction])) as { gasUsed: string }
    expect(settled.reduce((sum, { gasUsed }) => sum + gasUsed!, 0n)).toBe(BigInt(receipt.gasUsed))
    expect(BigInt(receipt.gasUsed) / 12n).toBeLessThan(52_000n)
    const { transactions } = await describePayment(ids[3]!)
    const mined = transactions.find(({ hash }) => hash === transaction)
    expect(mined).toMatchObject({ item: expect.any(Number), items: 12 })
    expect((await stand.billing.send('/reconciliation')).body).toMatchObject({ settledPayments: 12, differences: [] })
    expect((await stand.billing.send('/metrics')).body).toMatch(/^billing_settlement_batch_payments_sum\{.*\} 12$/m)
  })

  test('keeps one transaction in flight, and settles charges made meanwhile in the next one', async () => {
    const sentBefore = countSent()
    const first = await charge([1])
    await untilSubmitted(first)
    const next = await charge([2, 3, 4])
    // Several recovery rounds have run by then.
    await until(async () => (stand.node.stats.byMethod.eth_getTransactionCount ?? 0) > 20)
    expect(countSent()).toBe(sentBefore + 1)
    await mineOne()
    await untilSubmitted(next)
    // A transaction is stored before it is sent.
    await until(async () => countSent() === sentBefore + 2)
    const settled = await settleAll([...first, ...next])
    expect(new Set(settled.map(({ transaction }) => transaction)).size).toBe(2)
  })

  test('fails only the payment that can no longer be settled, with the reason found on chain', async () => {
    const other = DEVNET_ACCOUNTS[8]!
    let isFunded = false
    const funded = fundBuyer(stand.devnet.rpcUrl, other).then(() => {
      isFunded = true
    })
    // Funding sends several transactions in turn, and automine is off.
    await Promise.all([funded, until(async () => isFunded, Boolean, mineOne)])
    const first = await charge([1])
    await untilSubmitted(first)
    const doomed = await stand.billing.authorizeNew(makeRequirements({ maximum: '1000' }), other)
    const payments = [await authorize(), doomed, await authorize()]
    const ids = payments.map(({ id }) => id)
    for (const id of ids) await stand.billing.charge(id, '5', { waitMilliseconds: 0 })
    const before = await usdcBalance(stand.devnet, SELLER)
    // Keep the batch from the node until the nonce is burnt.
    stand.node.faultOf = (method) => (method === 'eth_sendRawTransaction' ? 'reset' : undefined)
    await mineOne()
    await untilSubmitted(ids)
    await burnNonce(stand.devnet, doomed.nonce, other)
    await mineOne()
    stand.node.faultOf = undefined
    await settleAll([ids[0]!, ids[2]!])
    expect(await untilState(ids[1]!, 'failed', mineOne)).toMatchObject({ reason: 'permit2_nonce_invalidated' })
    expect(await usdcBalance(stand.devnet, SELLER)).toBe(before + 11n)
    // The failed payment still bears its share of the batch's gas, even if it failed before the batch was mined.
    const failed = async () =>
      (await stand.billing.send('/payments/totals?state=failed')).body as { totals: { feePaid: string }[] }
    await until(failed, ({ totals }) => Number(totals[0]?.feePaid) > 0, mineOne)
    expect((await stand.billing.send('/reconciliation')).body).toMatchObject({ differences: [] })
  })

  test('replaces a stuck batch as a whole, with a higher fee', async () => {
    const ids = await charge([1])
    await untilSubmitted(ids)
    const more = await charge([7, 8, 9])
    await mineOne()
    await untilSubmitted(more)
    for (const id of more) {
      await until(async () => (await describePayment(id)).events.some(({ kind }) => kind === 'fee raised'))
    }
    await mineOne()
    const settled = await settleAll(more)
    expect(new Set(settled.map(({ transaction }) => transaction)).size).toBe(1)
    const { transactions } = await describePayment(more[2]!)
    expect(new Set(transactions.map(({ item }) => item)).size).toBe(1)
    expect(transactions.length).toBeGreaterThan(1)
  })

  const testOfLocks = store.name === 'Postgres' ? test : it.skip
  testOfLocks('a fee raise waits for a payment that is being concluded without holding its transaction', async () => {
    const ids = await charge([1])
    await untilSubmitted(ids)
    const [claimed, concluded] = await charge([1, 2])
    await mineOne()
    await untilSubmitted([claimed!, concluded!])
    const conclusion = new Client({ connectionString: stand.variables.DATABASE_URL })
    await conclusion.connect()
    try {
      await conclusion.query('begin')
      await conclusion.query('select from payments where id = $1 for no key update', [concluded])
      const waiting = 'select from pg_locks where not granted and pg_backend_pid() = any(pg_blocking_pids(pid))'
      await until(async () => (await conclusion.query(waiting)).rowCount === 1)
      // Otherwise each would wait for the other.
      const locked = await conclusion.query(
        `select from signed_transactions where hash = (select transaction from payments where id = $1) for no key update nowait`,
        [concluded],
      )
      expect(locked.rowCount).toBe(1)
    } finally {
      await conclusion.end()
    }
    await until(async () => (await describePayment(concluded!)).events.some(({ kind }) => kind === 'fee raised'))
    await mineOne()
    await settleAll([claimed!, concluded!])
  })

  test('resends the same signed batch after a reorg', async () => {
    const ids = await charge([1])
    await untilSubmitted(ids)
    const more = await charge([20, 21])
    await mineOne()
    await untilSubmitted(more)
    await mineOne()
    const [settled] = await settleAll(more)
    const before = await usdcBalance(stand.devnet, SELLER)
    const sent = countSent()
    const depth = Number((await fetchHead(stand.devnet)) - settled!.blockNumber!) + 1
    await anvil().request({ method: 'anvil_reorg', params: [depth, []] } as never)
    expect(await usdcBalance(stand.devnet, SELLER)).toBeLessThan(before)
    for (const id of more) {
      await until(async () => (await describePayment(id)).events.some(({ kind }) => kind === 'reorged'))
    }
    await settleAll(more)
    expect(await usdcBalance(stand.devnet, SELLER)).toBe(before)
    expect(countSent()).toBe(sent)
    const { body } = await stand.billing.send('/accounts')
    expect(JSON.stringify(body)).toContain('received')
    expect((await stand.billing.send('/reconciliation')).body).toMatchObject({ differences: [] })
  })

  /** As before its deployment: an address with a nonce can't be deployed to. */
  const removeContract = async () => {
    await rpc(stand.devnet.rpcUrl, 'anvil_setCode', [SETTLEMENT_BATCH, '0x'])
    await rpc(stand.devnet.rpcUrl, 'anvil_setNonce', [SETTLEMENT_BATCH, '0x0'])
  }

  test.each([
    ['an earlier version of the contract', EARLIER_DELEGATED_CODES[0]],
    ['a contract that is not deployed', DELEGATED_CODE],
  ])('delegates a signer again that is delegated to %s', async (_, code) => {
    await removeContract()
    const privateKey = generatePrivateKey()
    const { address } = privateKeyToAccount(privateKey)
    await anvil().setBalance({ address, value: parseEther('1') })
    await rpc(stand.devnet.rpcUrl, 'anvil_setCode', [address, code])
    const other = await runBilling(stand.devnet.rpcUrl, {
      FACILITATOR_PRIVATE_KEYS: privateKey,
      SETTLEMENT: 'batch',
      batchIntervalMs: '0',
      recoveryMs: '200',
      ...(await store.variables()),
    })
    try {
      const ids: string[] = []
      for (const amount of ['1', '2']) {
        const { id } = await other.authorizeNew(makeRequirements({ maximum: '1000', facilitator: address }))
        await other.charge(id, amount, { waitMilliseconds: 0 })
        ids.push(id)
      }
      const read = () => Promise.all(ids.map((id) => other.payment(id)))
      const settled = await until(read, (all) => all.every(({ state }) => state === 'settled'), mineOne)
      expect(new Set(settled.map(({ transaction }) => transaction)).size).toBe(1)
      expect(await rpc(stand.devnet.rpcUrl, 'eth_getCode', [address, 'latest'])).toBe(DELEGATED_CODE)
    } finally {
      await other.close()
    }
  })

  // Must run last: it removes the CREATE2 deployer from the chain.
  test('settles one by one while the signer cannot be delegated, and tells why in /health and once in the log', async () => {
    const deployer = await rpc(stand.devnet.rpcUrl, 'eth_getCode', [CREATE2_DEPLOYER, 'latest'])
    await rpc(stand.devnet.rpcUrl, 'anvil_setCode', [CREATE2_DEPLOYER, '0x'])
    await removeContract()
    const lines: string[] = []
    const logger = createLogger({ level: 'info', destination: { write: (line) => void lines.push(line) } })
    const other = await runBilling(
      stand.devnet.rpcUrl,
      {
        FACILITATOR_PRIVATE_KEYS: OTHER.privateKey,
        SETTLEMENT: 'batch',
        batchIntervalMs: '0',
        recoveryMs: '50',
        ...(await store.variables()),
      },
      logger,
    )
    try {
      const countTransactions = async () => {
        const ids: string[] = []
        for (const amount of ['1', '2', '3']) {
          const offer = makeRequirements({ maximum: '1000', facilitator: OTHER.address })
          const { id } = await other.authorizeNew(offer)
          await other.charge(id, amount, { waitMilliseconds: 0 })
          ids.push(id)
        }
        const read = () => Promise.all(ids.map((id) => other.payment(id)))
        const settled = await until(read, (all) => all.every(({ state }) => state === 'settled'), mineOne)
        return new Set(settled.map(({ transaction }) => transaction)).size
      }
      expect(await countTransactions()).toBe(3)
      const obstacle = `the chain lacks the deployer ${CREATE2_DEPLOYER}`
      expect(lines.filter((line) => line.includes(obstacle))).toHaveLength(1)
      const batchObstacles = { [OTHER.address.toLowerCase()]: obstacle }
      expect((await other.send('/health')).body).toMatchObject({ chains: { 'eip155:31337': { batchObstacles } } })
      expect((await stand.billing.send('/health')).body).toMatchObject({
        chains: { 'eip155:31337': { batchObstacles: {} } },
      })
      // The chain gets the deployer again: some rounds later, payments are settled in batches.
      await rpc(stand.devnet.rpcUrl, 'anvil_setCode', [CREATE2_DEPLOYER, deployer])
      await until(async () => !JSON.stringify((await other.send('/health')).body).includes(obstacle))
      expect(await countTransactions()).toBe(1)
    } finally {
      await other.close()
    }
  })
})
