import type { Address, Hash, Network } from '@upfront/protocol'
import { and, between, eq, gt, inArray, type SQL, sql } from 'drizzle-orm'
import type { Database } from './ledger.js'
import { gas, type PaymentRow, payments, settlementItems, signedTransactions, transfers } from './schema.js'

/** The receipt fields that the ledger stores. Fees in wei. */
export interface RecordedReceipt {
  hash: Hash
  /** Index of the batch item; 0 if the transaction is no batch. */
  item: number
  succeeded: boolean
  blockNumber: bigint
  blockHash: Hash
  gasUsed: bigint
  fee: bigint
}

/** For `along`: records the transfer of the changed payment (also one of a wrong amount), once per log and block. */
export function recordTransfer(receipt: RecordedReceipt, transfer: { logIndex: number; amount: bigint }): SQL {
  const { hash, blockNumber, blockHash } = receipt
  const same = sql`${transfers.network} = changed.network and ${transfers.transaction} = ${hash}
    and ${transfers.logIndex} = ${transfer.logIndex}::int and ${transfers.blockHash} = ${blockHash}`
  return sql`insert into ${transfers} (network, transaction, log_index, block_number, block_hash, entry, asset, payer, pay_to, amount,
      payment_id, recorded_at)
    select network, ${hash}::text, ${transfer.logIndex}::int, ${blockNumber.toString()}::bigint, ${blockHash}::text, recorded + 1,
      asset, payer, pay_to, ${transfer.amount.toString()}::numeric, id, updated_at
    from changed, lateral (select count(*)::int as recorded from ${transfers} where ${same}) as known
    where recorded % 2 = 0`
}

/** Condition: no other payment is recorded as settled by this log of a block. */
export function isUnclaimed({ hash, blockHash }: RecordedReceipt, { logIndex }: { logIndex: number }): SQL {
  return sql`not exists (select from ${transfers} as other where other.network = ${payments.network} and other.transaction = ${hash}
    and other.log_index = ${logIndex}::int and other.block_hash = ${blockHash} and other.payment_id <> ${payments.id}
    group by other.payment_id having sum(other.amount) > 0)`
}

/** Whether another payment is recorded as settled by this log. */
export async function isClaimed(
  db: Database,
  { id }: Pick<PaymentRow, 'id'>,
  receipt: RecordedReceipt,
  transfer: { logIndex: number },
): Promise<boolean> {
  const free = and(eq(payments.id, id), isUnclaimed(receipt, transfer))
  return (await db.select({ id: payments.id }).from(payments).where(free)).length === 0
}

/** For `along`: records the cost of the changed payment's transaction, whether it succeeded or not. */
export function recordPaymentGas(receipt: RecordedReceipt): SQL {
  return insertGas(receipt, sql`changed`, sql`network`, sql`facilitator`, sql`id`, sql`updated_at`)
}

/** Records the cost of a mined transaction, or of a payment's share of it, without changing the payment. */
export function recordGas(
  receipt: RecordedReceipt,
  of: { network: Network; signer: Address; paymentId: string | null },
): SQL {
  const { network, signer, paymentId } = of
  return insertGas(
    receipt,
    sql`(select 1) as one`,
    sql`${network}::text`,
    sql`${signer}::text`,
    sql`${paymentId}::text`,
    sql`now()`,
  )
}

function insertGas(receipt: RecordedReceipt, from: SQL, network: SQL, signer: SQL, paymentId: SQL, at: SQL): SQL {
  const { hash, item, blockNumber, blockHash, gasUsed, fee, succeeded } = receipt
  return sql`insert into ${gas} (network, transaction, block_number, block_hash, item, entry, signer, gas_used, fee, succeeded, payment_id,
      recorded_at)
    select ${network}, ${hash}::text, ${blockNumber.toString()}::bigint, ${blockHash}::text, ${item}::int, recorded + 1, ${signer},
      ${gasUsed.toString()}::numeric, ${fee.toString()}::numeric, ${succeeded}::boolean, ${paymentId}, ${at}
    from ${from}, lateral (select count(*)::int as recorded from ${gas} where ${gas.transaction} = ${hash}
      and ${gas.blockHash} = ${blockHash} and ${gas.item} = ${item}::int) as known
    where recorded % 2 = 0`
}

/**
 * For `along`: reverses the changed payment's records in a block that the chain dropped. The costs of a batch are reversed for all its
 * items at once, because nothing else looks at its failed payments.
 */
export function reverseBlock(blockHash: Hash): SQL[] {
  const isOfPayment = sql`(old.payment_id = changed.id
    or old.transaction in (select hash from ${settlementItems} as own where own.payment_id = changed.id))`
  return [
    sql`insert into ${transfers} (network, transaction, log_index, block_number, block_hash, entry, asset, payer, pay_to, amount,
        payment_id, recorded_at)
      select old.network, old.transaction, log_index, old.block_number, old.block_hash, entry + 1, old.asset, old.payer, old.pay_to,
        -amount, payment_id, updated_at
      from changed join (select distinct on (transaction, log_index) * from ${transfers} where block_hash = ${blockHash}
        order by transaction, log_index, entry desc) as old on old.payment_id = changed.id and entry % 2 = 1`,
    insertReversedGas(blockHash, sql`changed`, isOfPayment, sql`updated_at`),
  ]
}

/**
 * Reverses all recorded costs in a block that the chain dropped, and reopens their transactions: their costs are recorded again where they
 * are mined.
 */
export async function reverseGas(db: Database, network: Network, blockHash: Hash): Promise<void> {
  const isOfNetwork = sql`old.network = ${network}`
  await db.transaction(async (tx) => {
    await tx.execute(insertReversedGas(blockHash, sql`(select 1) as one`, isOfNetwork, sql`now()`))
    await tx.execute(sql`update ${signedTransactions} set status = 'open' where hash in (select hash from ${signedTransactions}
      where status = 'mined' and network = ${network} and hash in (select transaction from ${gas} where block_hash = ${blockHash})
      order by hash for no key update)`)
  })
}

/** Another process may do the same. */
function insertReversedGas(blockHash: Hash, from: SQL, isReversed: SQL, at: SQL): SQL {
  return sql`insert into ${gas} (network, transaction, block_number, block_hash, item, entry, signer, gas_used, fee, succeeded, payment_id,
      recorded_at)
    select old.network, old.transaction, old.block_number, old.block_hash, item, entry + 1, signer, -old.gas_used, -fee, succeeded,
      payment_id, ${at}
    from ${from} join (select distinct on (transaction, item) * from ${gas} where block_hash = ${blockHash}
      order by transaction, item, entry desc) as old on entry % 2 = 1 and ${isReversed}
    on conflict do nothing`
}

/** The blocks of a range in which costs of these signers were recorded after `since` and not reversed. */
export function readBlocksWithGas(
  db: Database,
  network: Network,
  signers: readonly Address[],
  { from, to }: { from: bigint; to: bigint },
  since: Date,
): Promise<{ blockNumber: bigint; blockHash: Hash }[]> {
  const { blockNumber, blockHash } = gas
  return db
    .select({ blockNumber, blockHash })
    .from(gas)
    .where(
      and(
        eq(gas.network, network),
        inArray(gas.signer, [...signers]),
        gt(gas.recordedAt, since),
        between(blockNumber, from, to),
      ),
    )
    .groupBy(blockNumber, blockHash)
    .having(sql`sum(${gas.gasUsed}) > 0`)
}
