import type { Network } from '@upfront/protocol'
import { and, eq, gte, min } from 'drizzle-orm'
import type { Chain } from '../../chain/chain.js'
import { isInState } from '../../ledger/is-in-state.js'
import type { Database } from '../../ledger/ledger.js'
import { type PaymentRow, payments, reconciledBlocks } from '../../ledger/schema.js'
import { concludeSettled, reopen } from '../outcome/conclude.js'
import { compare, type Difference, explain, type Finding, findDropped } from './compare.js'
import { readRecorded, readTransfers } from './read-facts.js'

/** What most public nodes let one eth_getLogs span. */
export const RANGE_BLOCKS = 2_000n
/** So many of the newest blocks are looked at in each round; deeper ones once, when they are final. */
const WATCHED_BLOCKS = 64n
/** Others are looked at when their blocks are final. */
const MOST_FAILURES = 200

/** What the ledger made of the chain's facts. */
export interface Followed {
  /** Payments that had failed, or whose settler did not see it, and whose transfer was found. */
  healed: PaymentRow[]
  /** Payments whose block the chain has dropped: they are under way again. */
  reopened: PaymentRow[]
  differences: Difference[]
}

/**
 * Compares the next final blocks of a chain with the ledger, where there are any: at most one range for each call. `null`: nothing to
 * do, or another process did it. Throws `NodeFault`.
 */
export async function followFinal(db: Database, chain: Chain): Promise<(Followed & { upTo: bigint }) | null> {
  const final = await chain.finalBlock()
  const before = await readCursor(db, chain.network)
  if (before === null || final <= before) return null
  const upTo = before + RANGE_BLOCKS < final ? before + RANGE_BLOCKS : final
  const followed = await apply(db, chain, await compare(db, chain, { from: before + 1n, to: upTo }))
  const advanced = await db
    .update(reconciledBlocks)
    .set({ blockNumber: upTo, updatedAt: new Date() })
    .where(and(eq(reconciledBlocks.network, chain.network), eq(reconciledBlocks.blockNumber, before)))
    .returning()
  return advanced.length === 1 ? { ...followed, upTo } : null
}

/**
 * Looks after what ended in the newest blocks: settlements whose block is dropped, and failures whose transfer shows up, as a node may
 * have been wrong for longer than anybody expects. Throws `NodeFault`.
 */
export async function followNewest(db: Database, chain: Chain): Promise<Followed> {
  const { network, head } = chain
  const range = { from: head.number > WATCHED_BLOCKS ? head.number - WATCHED_BLOCKS : 0n, to: head.number }
  const dropped = await findDropped(db, chain, await readRecorded(db, network, range, undefined))
  const failed = await db
    .select()
    .from(payments)
    .where(and(eq(payments.network, network), isInState('failed'), gte(payments.judgedBlock, range.from)))
    .limit(MOST_FAILURES)
  const places = {
    assets: [...new Set(failed.map(({ asset }) => asset))],
    senders: [...new Set(failed.map(({ payer }) => payer))],
    recipients: [...new Set(failed.map(({ payTo }) => payTo))],
  }
  const { logs } = await readTransfers(chain, places, range)
  const explained = await Promise.all(logs.map((log) => explain(db, chain, log)))
  const healing = explained.filter((finding) => finding?.kind === 'settled' && finding.payment.state === 'failed')
  return apply(db, chain, [...dropped, ...healing.filter((finding) => finding !== null)])
}

async function apply(db: Database, chain: Chain, findings: readonly Finding[]): Promise<Followed> {
  const followed: Followed = { healed: [], reopened: [], differences: [] }
  for (const finding of findings) {
    if (finding.kind === 'difference') followed.differences.push(finding.difference)
    else if (finding.kind === 'dropped') {
      const reopened = await reopen(db, chain, finding.payment)
      if (reopened !== null) followed.reopened.push(reopened)
    } else {
      const healed = await concludeSettled(db, chain, finding.payment, finding.receipt, finding.transfer)
      if (healed?.state === 'settled') followed.healed.push(healed)
    }
  }
  return followed
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
