import type { JsonObject } from '@upfront/protocol'
import { sql, sum } from 'drizzle-orm'
import type { Database } from '../ledger/ledger.js'
import { postings } from '../ledger/schema.js'

/**
 * What stands on each account: a token's `reserved`, `receivable`, `received` and `written off` beside what payers `promised`
 * (smallest unit); what each signer spent on `gas` (`native`, wei). The amounts of one network and asset sum to zero.
 */
export async function sumAccounts(db: Database): Promise<JsonObject> {
  const rows = await db
    .select({
      network: postings.network,
      asset: postings.asset,
      account: postings.account,
      amount: sql<string>`${sum(postings.amount)}::text`,
    })
    .from(postings)
    .groupBy(postings.network, postings.asset, postings.account)
    .orderBy(postings.network, postings.asset, postings.account)
  return { accounts: rows }
}
