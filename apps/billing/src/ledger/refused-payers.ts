import type { Address, Network } from '@upfront/protocol'
import { and, eq, type SQL, sql } from 'drizzle-orm'
import type { Database } from './ledger.js'
import type { RecordedReceipt } from './record-receipt.js'
import { type PaymentRow, refusedPayers } from './schema.js'

/** Whether this payer has burned a signer's gas before. An operator who knows better deletes the row. */
export async function isPayerRefused(db: Database, network: Network, payer: Address): Promise<boolean> {
  const rows = await db
    .select({ payer: refusedPayers.payer })
    .from(refusedPayers)
    .where(and(eq(refusedPayers.network, network), eq(refusedPayers.payer, payer)))
  return rows.length > 0
}

/** Counts a transaction that a payer's contract has made revert. To be run once for each, in the transaction that notes it as mined. */
export function refusePayer(payment: Pick<PaymentRow, 'network' | 'payer'>, { gasUsed }: RecordedReceipt): SQL {
  return recordRefusal(payment, gasUsed)
}

/** Counts a transaction whose `gasUsed` a payer has cost a signer. */
export function recordRefusal({ network, payer }: Pick<PaymentRow, 'network' | 'payer'>, gasUsed: bigint): SQL {
  return sql`insert into ${refusedPayers} (network, payer, transactions, gas_used, refused_at)
    values (${network}, ${payer}, 1, ${gasUsed.toString()}::numeric, now())
    on conflict (network, payer) do update set transactions = refused_payers.transactions + 1,
      gas_used = refused_payers.gas_used + excluded.gas_used`
}
