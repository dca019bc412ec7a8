import type { Hash } from '@upfront/protocol'
import { and, desc, eq, gte, inArray, isNotNull, or } from 'drizzle-orm'
import type { Chain } from '../../chain/chain.js'
import type { Database } from '../../ledger/ledger.js'
import { type PaymentRow, payments } from '../../ledger/schema.js'

/** A settlement or a failure with so many blocks on top is not looked after any more, but by reconciliation. */
export const WATCHED_BLOCKS = 64n

/** Payments that were settled, or mined, in a block that the chain has replaced by another. Throws `NodeFault`. */
export async function findReorged(db: Database, chain: Chain): Promise<PaymentRow[]> {
  const isMined = and(eq(payments.network, chain.network), inArray(payments.state, ['submitted', 'settled']))
  const blocks = await db
    .selectDistinct({ number: payments.blockNumber, hash: payments.blockHash })
    .from(payments)
    .where(and(isMined, isNotNull(payments.blockHash), gte(payments.blockNumber, chain.head.number - WATCHED_BLOCKS)))
    .orderBy(desc(payments.blockNumber))
  const gone: { number: bigint; hash: Hash }[] = []
  for (const { number, hash } of blocks) {
    if (number === null || hash === null) continue
    const found = await chain.blockHash(number)
    // What the chain's own block stands on is the chain's.
    if (found === hash) break
    // A node that is behind has no block yet where the chain has one.
    if (found !== null) gone.push({ number, hash })
  }
  if (gone.length === 0) return []
  const inGone = gone.map(({ number, hash }) => and(eq(payments.blockNumber, number), eq(payments.blockHash, hash)))
  return db
    .select()
    .from(payments)
    .where(and(isMined, or(...inGone)))
    .limit(500)
}
