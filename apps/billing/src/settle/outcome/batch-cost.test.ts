import { createLogger } from '@upfront/service'
import { asc, eq, sql } from 'drizzle-orm'
import { oneStore } from '../../../test/support/stores.js'
import type { Chain } from '../../chain/chain.js'
import type { Log, Receipt } from '../../chain/receipt.js'
import { batchPart } from '../../chain/settlement-batch.js'
import { transferTopics } from '../../chain/settlement-call.js'
import { type Ledger, openLedger } from '../../ledger/ledger.js'
import { gas, paymentEvents, payments, signedTransactions } from '../../ledger/schema.js'
import { storeTransaction } from '../../ledger/signed-transactions.js'
import { repairNonces } from '../signers/signer-nonces.js'
import { concludeFailed, concludeReorged, concludeSettled, reopen } from './conclude.js'
import { track } from './track.js'

const NETWORK = 'eip155:31337'
const SIGNER = `0x${'51'.repeat(20)}` as const
const ASSET = `0x${'a5'.repeat(20)}` as const
const SELLER = `0x${'5e'.repeat(20)}` as const
const HASH = `0x${'ba'.repeat(32)}` as const
const BLOCK = { blockNumber: 8n, blockHash: `0x${'b8'.repeat(32)}` } as const
const IDS = ['pay_0', 'pay_1', 'pay_2'] as const
const DOOMED = 1
const logger = createLogger({ level: 'silent' })

const payerOf = (item: number) => `0x${String(item).repeat(40)}` as const

/** The log that the batch contract emits after each item: whether it succeeded. */
const mark = (item: number): Log => ({
  ...{ logIndex: item, address: SIGNER, topics: [], transactionHash: HASH, blockNumber: BLOCK.blockNumber },
  data: `0x${item === DOOMED ? '00' : '01'}`,
})
const receipt: Receipt = {
  ...{ hash: HASH, item: 0, tried: true, succeeded: true, ...BLOCK, from: SIGNER, to: SIGNER },
  ...{ gasUsed: 100_001n, fee: 200_002n, logs: IDS.map((_, item) => mark(item)) },
}

/** A chain on which the batch has this many confirmations, and its signer `count` mined transactions. */
function chainWith(confirmations: number, count: number): Chain {
  const chain = {
    ...{ network: NETWORK, confirmations: 2, head: { number: BLOCK.blockNumber - 1n + BigInt(confirmations) } },
    ...{ latest: { transactionCount: async () => count }, receipt: async () => receipt },
  }
  return chain as unknown as Chain
}

describe.each(oneStore())('the gas cost of a batch, on $name', (store) => {
  const test = store.missing === null ? it : it.skip
  let ledger: Ledger

  beforeAll(async () => {
    if (store.missing !== null) return console.warn(`skipped: ${store.missing}`)
    await store.start()
  })
  beforeEach(async () => {
    if (store.missing !== null) return
    ledger = await openLedger({ BILLING_DATA_DIR: '', ...(await store.variables()) }, logger)
    for (const [nonce, id] of IDS.entries()) await insertPayment(id, nonce)
    const transaction = { hash: HASH, network: NETWORK, signer: SIGNER, nonce: 0, raw: '0x', gas: 1n } as const
    const fees = { maxFeePerGas: 1n, maxPriorityFeePerGas: 1n }
    const stored = { ...transaction, ...fees, status: 'open', signedAt: new Date() } as const
    await ledger.db.transaction((tx) => storeTransaction(tx, stored, IDS))
  })
  afterEach(() => ledger?.onApplicationShutdown())
  afterAll(() => store.stop())

  /** Inserts a submitted payment of the batch. */
  const insertPayment = async (id: string, nonce: number) => {
    const row = {
      ...{ id, state: 'submitted', kind: 'upto-permit2', network: NETWORK, asset: ASSET, payer: payerOf(nonce) },
      ...{ pay_to: SELLER, facilitator: SIGNER, nonce, maximum: 5, charge: 5, valid_after: 0, deadline: 1 },
      ...{ signature: `0x${'11'.repeat(65)}`, authorized_block: 0, settlement_gas: 0, transaction: HASH },
      ...{ created_at: '2026-01-01T00:00:00Z', updated_at: '2026-01-01T00:00:00Z' },
    }
    const payment = sql`jsonb_populate_record(null::payments, ${JSON.stringify(row)}::jsonb)`
    await ledger.db.transaction(async (tx) => {
      await tx.execute(sql`insert into payments overriding user value select (${payment}).*`)
      await tx.insert(paymentEvents).values({
        paymentId: id,
        at: new Date('2026-01-01T00:00:00Z'),
        kind: 'submitted',
        toState: 'submitted',
        data: {},
      })
    })
  }
  const payment = async (item: number) => {
    const [row] = await ledger.db.select().from(payments).where(eq(payments.id, IDS[item]!))
    return row!
  }
  const part = (item: number) => batchPart(receipt, { to: SIGNER, item, items: IDS.length })
  const fail = async (own: Receipt | null) =>
    concludeFailed(ledger.db, await payment(DOOMED), 'permit2_nonce_invalidated', { number: 7n, hash: '0x7' }, own)
  const settle = async (confirmations: number) => {
    const chain = chainWith(confirmations, 0)
    for (const item of [0, 2]) {
      const transfer = { logIndex: item, amount: 5n }
      await concludeSettled(ledger.db, chain, await payment(item), part(item), transfer)
    }
  }
  const costs = async () => {
    const rows = await ledger.db.select().from(gas).orderBy(asc(gas.item))
    return rows.map(({ item, paymentId, gasUsed, fee }) => ({ item, paymentId, gasUsed, fee }))
  }
  const status = async () => (await ledger.db.select().from(signedTransactions))[0]?.status
  const all = IDS.map((paymentId, item) => ({ item, paymentId, gasUsed: part(item).gasUsed, fee: part(item).fee }))

  test('is recorded in full if one payment failed before the batch was mined', async () => {
    await fail(null)
    await settle(1)
    await settle(2)
    for (let round = 0; round < 2; round += 1) await repairNonces(ledger.db, chainWith(2, 1), SIGNER, logger)
    expect(await costs()).toEqual(all)
    expect(all.reduce((sum, { fee }) => sum + fee, 0n)).toBe(receipt.fee)
    expect(await status()).toBe('mined')
  })

  test('is recorded in full if one payment fails after the others were mined', async () => {
    await settle(1)
    // Concluded from state that was read earlier.
    await fail(null)
    await settle(2)
    await repairNonces(ledger.db, chainWith(2, 1), SIGNER, logger)
    expect(await costs()).toEqual(all)
  })

  test('is recorded in full if one payment failed before, and another reverts and is resubmitted', async () => {
    await concludeFailed(ledger.db, await payment(0), 'permit2_nonce_invalidated', { number: 7n, hash: '0x7' }, null)
    const block = {
      ...{ number: BLOCK.blockNumber, timestamp: 1n, isNonceUsed: async () => false, wouldSettle: async () => true },
      ...{ balanceOf: async () => 5n, permit2Allowance: async () => 5n },
    }
    const chain = {
      ...chainWith(2, 1),
      blockBelowHead: async () => block,
      hadCode: async () => false,
    } as unknown as Chain
    expect(await track(ledger.db, chain, await payment(DOOMED), 1_000)).toEqual({ outcome: 'resubmit' })
    await concludeSettled(ledger.db, chain, await payment(2), part(2), { logIndex: 2, amount: 5n })
    await repairNonces(ledger.db, chain, SIGNER, logger)
    expect(await costs()).toEqual(all)
    expect(await status()).toBe('mined')
  })

  test('is replaced by the cost in the new block if a reorg moved the batch', async () => {
    await settle(2)
    const topics = transferTopics({ payer: payerOf(0), payTo: SELLER })
    const transfer: Log = { ...mark(0), logIndex: 9, address: ASSET, topics, data: '0x5' }
    const moved = { ...receipt, blockHash: `0x${'b9'.repeat(32)}`, blockNumber: 9n, fee: 900_000n } as const
    const chain = { ...chainWith(2, 1), receipt: async () => ({ ...moved, logs: [transfer, ...receipt.logs] }) }
    expect(await reopen(ledger.db, chain as unknown as Chain, await payment(0))).toBeNull()
    expect(await payment(0)).toMatchObject({ state: 'settled', blockNumber: 9n, feePaid: 300_000n })
    expect((await costs()).filter(({ item }) => item === 0).reduce((sum, { fee }) => sum + fee, 0n)).toBe(300_000n)
  })

  test('is reversed in full if a reorg drops the block, and the signed transaction is kept', async () => {
    await settle(1)
    await fail(null)
    await settle(2)
    // The block is gone, but billing has not noticed yet.
    await repairNonces(ledger.db, chainWith(2, 0), SIGNER, logger)
    expect((await ledger.db.select().from(signedTransactions)).map(({ hash }) => hash)).toEqual([HASH])
    await repairNonces(ledger.db, chainWith(2, 1), SIGNER, logger)
    for (const item of [0, 2]) await concludeReorged(ledger.db, await payment(item))
    expect((await costs()).map(({ item }) => item)).toEqual([0, 0, 1, 1, 2, 2])
    expect((await costs()).reduce((sum, { fee }) => sum + fee, 0n)).toBe(0n)
  })

  test('is recorded once per payment if all are concluded from the receipt', async () => {
    await settle(1)
    await fail(part(DOOMED))
    expect(await status()).toBe('mined')
    await settle(2)
    await repairNonces(ledger.db, chainWith(2, 1), SIGNER, logger)
    expect(await costs()).toEqual(all)
  })
})
