import { and, asc, eq, gte, inArray, isNotNull, or } from 'drizzle-orm'
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
    .orderBy(asc(payments.blockNumber))
  // Each of them: that the chain has one block says nothing of another's that was recorded on a branch before.
  const hashes = await Promise.all(blocks.map(({ number }) => (number === null ? null : chain.blockHash(number))))
  const inGone = blocks.flatMap(({ number, hash }, index) => {
    const found = hashes[index]
    // A node that is behind has no block yet where the chain has one.
    if (number === null || hash === null || found == null || found === hash) return []
    return and(eq(payments.blockNumber, number), eq(payments.blockHash, hash))
  })
  if (inGone.length === 0) return []
  return db
    .select()
    .from(payments)
    .where(and(isMined, or(...inGone)))
    .limit(500)
}
