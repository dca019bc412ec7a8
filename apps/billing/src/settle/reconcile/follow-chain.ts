import type { Network } from '@upfront/protocol'
import { and, eq, gte, min } from 'drizzle-orm'
import type { Chain } from '../../chain/chain.js'
import { HOUR_MS } from '../../ledger/gas-sums.js'
import { isInState } from '../../ledger/is-in-state.js'
import type { Database } from '../../ledger/ledger.js'
import { readBlocksWithGas, reverseGas } from '../../ledger/record-receipt.js'
import { type PaymentRow, payments, reconciledBlocks } from '../../ledger/schema.js'
import { concludeSettled, reopen } from '../outcome/conclude.js'
import { compare, type Difference, explain, type Finding, findDropped, findReplacedBlocks } from './compare.js'
import { type BlockRange, readRecorded, readTransfers } from './read-facts.js'

/** Block range that most public nodes accept for eth_getLogs. */
export const RANGE_BLOCKS = 2_000n
/** Number of newest blocks checked in each round. Older blocks are checked once, when they are final. */
const WATCHED_BLOCKS = 64n
/** Further failures are checked when their blocks are final. */
const MAX_FAILURES = 200

/** The changes made to the ledger. */
export interface Followed {
  /** Payments settled because their transfer was found, although they had failed or their settler missed it. */
  healed: PaymentRow[]
  /** Payments reopened because their block was dropped. */
  reopened: PaymentRow[]
  differences: Difference[]
}

/**
 * Compares the next final blocks with the ledger, at most one range per call. Returns `null` if there are none, or another process compared
 * them first. Throws `NodeFault`.
 */
export async function followFinal(db: Database, chain: Chain): Promise<(Followed & { upTo: bigint }) | null> {
  const final = await chain.finalBlock()
  const before = await readCursor(db, chain.network)
  if (before === null || final <= before) return null
  const upTo = before + RANGE_BLOCKS < final ? before + RANGE_BLOCKS : final
  const range = { from: before + 1n, to: upTo }
  const followed = await apply(db, chain, await compare(db, chain, range))
  // Costs in these blocks were recorded after the last compared block was mined; if it is unknown, all are read.
  const last = (await chain.header(before))?.timestamp ?? 0n
  await reverseDroppedGas(db, chain, range, Number(chain.head.now() - last) * 1_000 + HOUR_MS)
  const advanced = await db
    .update(reconciledBlocks)
    .set({ blockNumber: upTo, updatedAt: new Date() })
    .where(and(eq(reconciledBlocks.network, chain.network), eq(reconciledBlocks.blockNumber, before)))
    .returning()
  return advanced.length === 1 ? { ...followed, upTo } : null
}

/**
 * Checks what ended in the newest blocks: settlements and costs whose block was dropped, and failed payments whose transfer shows up
 * because the node was wrong for long. Throws `NodeFault`.
 */
export async function followNewest(db: Database, chain: Chain): Promise<Followed> {
  const { network, head } = chain
  const range = { from: head.number > WATCHED_BLOCKS ? head.number - WATCHED_BLOCKS : 0n, to: head.number }
  const dropped = await findDropped(db, chain, await readRecorded(db, network, range, undefined))
  const failed = await db
    .select()
    .from(payments)
    .where(and(eq(payments.network, network), isInState('failed'), gte(payments.judgedBlock, range.from)))
    .limit(MAX_FAILURES)
  const places = {
    assets: [...new Set(failed.map(({ asset }) => asset))],
    senders: [...new Set(failed.map(({ payer }) => payer))],
    recipients: [...new Set(failed.map(({ payTo }) => payTo))],
  }
  const { logs } = await readTransfers(chain, places, range)
  const explained = await Promise.all(logs.map((log) => explain(db, chain, log)))
  const healing = explained.filter((finding) => finding?.kind === 'settled' && finding.payment.state === 'failed')
  const followed = await apply(db, chain, [...dropped, ...healing.filter((finding) => finding !== null)])
  await reverseDroppedGas(db, chain, range, HOUR_MS)
  return followed
}

/**
 * Reverses costs in dropped blocks that were recorded in the last `milliseconds`. Call it after the settlements of the range are applied:
 * what they reverse is not reversed again. Throws `NodeFault`.
 */
async function reverseDroppedGas(db: Database, chain: Chain, range: BlockRange, milliseconds: number): Promise<void> {
  const { network, signers } = chain
  const since = new Date(Date.now() - milliseconds)
  const withGas = await readBlocksWithGas(db, network, [...signers.keys()], range, since)
  for (const blockHash of await findReplacedBlocks(chain, withGas)) await reverseGas(db, network, blockHash)
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

/** The last reconciled block; `null` if this chain has no payment yet. */
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
