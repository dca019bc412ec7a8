import type { Hash, Network } from '@upfront/protocol'
import { and, eq, gte, lte, min, sql } from 'drizzle-orm'
import { pad } from 'viem'
import type { Chain } from '../../chain/chain.js'
import type { Log } from '../../chain/receipt.js'
import { receiptAt } from '../../chain/settlement-batch.js'
import { TRANSFER_TOPIC } from '../../chain/settlement-call.js'
import { findPaymentById } from '../../ledger/find-payment.js'
import type { Database } from '../../ledger/ledger.js'
import { type PaymentRow, payments, reconciledBlocks, transfers } from '../../ledger/schema.js'
import { concludeSettled } from '../outcome/conclude.js'
import { findSettlement } from '../outcome/find-settlement.js'
import { findTransfer } from '../outcome/find-transfer.js'
import { reopen } from '../outcome/follow-ended.js'

/** What most public nodes let one eth_getLogs span. */
const RANGE_BLOCKS = 2_000n
/** Recipients in one request. */
const MOST_RECIPIENTS = 100

/** What the ledger and the chain's final blocks do not agree on. Amounts in the token's smallest unit. */
interface BlockDifference {
  kind: /** The ledger has a transfer that the chain has not. */
    | 'missing on chain'
    /** Moved on chain, by an authorization that the ledger says was not charged so. */
    | 'moved but not settled'
    /** Moved through the upto proxy to a payTo of the ledger, by an authorization that the ledger does not know. */
    | 'not in ledger'
  network: Network
  transaction: Hash
  logIndex: number
  paymentId: string | null
  amount: string
}

export interface Advance {
  upTo: bigint
  differences: BlockDifference[]
  /** Payments that had failed, and whose transfer was found. */
  healed: PaymentRow[]
  /** Payments whose block the chain has dropped unnoticed: they are under way again. */
  reopened: PaymentRow[]
}

/**
 * Compares the next final blocks of a chain with the ledger, where there are any: at most one range for each call. What had
 * failed and was transferred is settled, and what was settled in a block that is gone is under way again. `null`: nothing to
 * do, or another process did it. Throws `NodeFault` and `NodeRefusal`.
 */
export async function advance(db: Database, chain: Chain): Promise<Advance | null> {
  const final = await chain.finalBlock()
  const before = await readCursor(db, chain.network)
  if (before === null || final <= before) return null
  const upTo = before + RANGE_BLOCKS < final ? before + RANGE_BLOCKS : final
  const result: Advance = { upTo, differences: [], healed: [], reopened: [] }
  const logs = await readTransfers(db, chain, before + 1n, upTo)
  const recorded = await readRecorded(db, chain.network, before + 1n, upTo)
  for (const log of logs) {
    const key = keyOf(log)
    if (recorded.delete(key)) continue
    await account(db, chain, log, result)
  }
  for (const { transaction, logIndex, paymentId, amount } of recorded.values()) {
    const { network } = chain
    const payment = await findDropped(db, chain, paymentId)
    if (payment !== null) {
      const reopened = await reopen(db, chain, payment)
      if (reopened !== null) result.reopened.push(reopened)
      continue
    }
    result.differences.push({ kind: 'missing on chain', network, transaction, logIndex, paymentId, amount })
  }
  const advanced = await db
    .update(reconciledBlocks)
    .set({ blockNumber: upTo, updatedAt: new Date() })
    .where(and(eq(reconciledBlocks.network, chain.network), eq(reconciledBlocks.blockNumber, before)))
    .returning()
  return advanced.length === 1 ? result : null
}

/** The last block that was compared; `null`: there is no payment on this chain yet. */
async function readCursor(db: Database, network: Network): Promise<bigint | null> {
  const [found] = await db.select().from(reconciledBlocks).where(eq(reconciledBlocks.network, network))
  if (found !== undefined) return found.blockNumber
  const [first] = await db
    .select({ block: min(payments.authorizedBlock) })
    .from(payments)
    .where(eq(payments.network, network))
  if (first?.block == null) return null
  const blockNumber = BigInt(first.block)
  await db.insert(reconciledBlocks).values({ network, blockNumber, updatedAt: new Date() }).onConflictDoNothing()
  return blockNumber
}

async function readTransfers(db: Database, chain: Chain, from: bigint, to: bigint): Promise<Log[]> {
  const accounts = await db
    .selectDistinct({ asset: payments.asset, payTo: payments.payTo })
    .from(payments)
    .where(eq(payments.network, chain.network))
  const assets = [...new Set(accounts.map(({ asset }) => asset))]
  const recipients = [...new Set(accounts.map(({ payTo }) => payTo))]
  const logs: Log[] = []
  for (let at = 0; at < recipients.length; at += MOST_RECIPIENTS) {
    const some = recipients.slice(at, at + MOST_RECIPIENTS).map((recipient) => pad(recipient))
    logs.push(...(await chain.logs(assets, [TRANSFER_TOPIC, null, some], from, to)))
  }
  return logs
}

type Recorded = { transaction: Hash; logIndex: number; paymentId: string; amount: string }

/** The transfers that the ledger has in these blocks, less those that were taken back. */
async function readRecorded(db: Database, network: Network, from: bigint, to: bigint): Promise<Map<string, Recorded>> {
  const rows = await db
    .select({
      transaction: transfers.transaction,
      logIndex: transfers.logIndex,
      paymentId: transfers.paymentId,
      amount: sql<string>`sum(${transfers.amount})::text`,
    })
    .from(transfers)
    .where(
      and(
        eq(transfers.network, network),
        gte(transfers.blockNumber, from),
        lte(transfers.blockNumber, to),
        // Recorded before log indices were: `GET /reconciliation` compares them.
        gte(transfers.logIndex, 0),
      ),
    )
    .groupBy(transfers.transaction, transfers.logIndex, transfers.paymentId)
    .having(sql`sum(${transfers.amount}) > 0`)
  return new Map(rows.map((row) => [keyOf({ transactionHash: row.transaction, logIndex: row.logIndex }), row]))
}

function keyOf({ transactionHash, logIndex }: Pick<Log, 'transactionHash' | 'logIndex'>): string {
  return `${transactionHash}/${logIndex}`
}

/** The payment where the chain has another block in place of the one that it was mined in; else `null`. Throws `NodeFault`. */
async function findDropped(db: Database, chain: Chain, paymentId: string): Promise<PaymentRow | null> {
  const payment = await findPaymentById(db, paymentId)
  if (payment === null || payment.blockNumber === null) return null
  const found = await chain.blockHash(payment.blockNumber)
  return found === null || found === payment.blockHash ? null : payment
}

/** A transfer that the ledger has not: a settlement that it missed, or nothing of ours. */
async function account(db: Database, chain: Chain, log: Log, result: Advance): Promise<void> {
  const { network } = chain
  const { transactionHash: hash, logIndex } = log
  const found = await findSettlement(db, chain, log)
  if (found === null) return
  const { payment, place } = found
  const amount = BigInt(log.data).toString()
  const report = (kind: BlockDifference['kind']) =>
    result.differences.push({ kind, network, transaction: hash, logIndex, paymentId: payment?.id ?? null, amount })
  if (payment === null) return void report('not in ledger')
  const whole = await chain.receipt(hash)
  const receipt = whole === null ? null : receiptAt(whole, place)
  const transfer = receipt === null ? null : findTransfer(payment, receipt.logs)
  if (receipt === null || transfer === null) throw new Error(`the node has no receipt of ${hash} in a final block`)
  if (transfer.amount !== payment.charge) return void report('moved but not settled')
  if (payment.state === 'failed') {
    const healed = await concludeSettled(db, chain, payment, receipt, transfer)
    if (healed !== null) result.healed.push(healed)
    return
  }
  // Under way: its settler sees it too. Settled before log indices were recorded: it is there.
  if (['charging', 'submitted', 'settled'].includes((await findPaymentById(db, payment.id))?.state ?? '')) return
  report('moved but not settled')
}
