import type { Address, Hash, Network } from '@upfront/protocol'
import { and, eq, gte, lte, type SQL, sql } from 'drizzle-orm'
import { pad } from 'viem'
import type { Chain } from '../../chain/chain.js'
import { isTooMuch } from '../../chain/node-error.js'
import type { Log } from '../../chain/receipt.js'
import { TRANSFER_TOPIC } from '../../chain/settlement-call.js'
import type { Database } from '../../ledger/ledger.js'
import { payments, transfers } from '../../ledger/schema.js'

/** Recipients per request. */
const MAX_RECIPIENTS = 100
/** Refusals per range, so that a node that refuses everything is not asked for each block. */
const MAX_REFUSALS = 64

/** A transfer recorded in the ledger and not reversed. Smallest unit. */
export interface Recorded {
  transaction: Hash
  logIndex: number
  blockNumber: bigint
  blockHash: Hash
  asset: Address
  payTo: Address
  paymentId: string
  amount: bigint
}

/** A range of blocks, both ends included. */
export interface BlockRange {
  from: bigint
  to: bigint
}

/** The tokens and recipients of the payments selected by `where`. */
export async function readPlaces(db: Database, network: Network, where: SQL | undefined): Promise<Places> {
  const places = await db
    .selectDistinct({ asset: payments.asset, payTo: payments.payTo })
    .from(payments)
    .where(and(eq(payments.network, network), where))
  return {
    assets: [...new Set(places.map(({ asset }) => asset))],
    recipients: [...new Set(places.map(({ payTo }) => payTo))],
  }
}

/** The transfers recorded in these blocks, of the payments selected by `where`. */
export async function readRecorded(
  db: Database,
  network: Network,
  { from, to }: BlockRange,
  where: SQL | undefined,
): Promise<Recorded[]> {
  const { transaction, logIndex, blockNumber, blockHash, asset, payTo, paymentId } = transfers
  const columns = { transaction, logIndex, blockNumber, blockHash, asset, payTo, paymentId }
  const rows = await db
    .select({ ...columns, amount: sql<string>`sum(${transfers.amount})::text` })
    .from(transfers)
    .innerJoin(payments, eq(payments.id, transfers.paymentId))
    .where(and(eq(transfers.network, network), gte(blockNumber, from), lte(blockNumber, to), where))
    .groupBy(...Object.values(columns))
    .having(sql`sum(${transfers.amount}) > 0`)
  return rows.map((row) => ({ ...row, amount: BigInt(row.amount) }))
}

/** Filter for transfers; without `senders`, from anyone. */
export interface Places {
  assets: readonly Address[]
  recipients: readonly Address[]
  senders?: readonly Address[]
}

/**
 * Reads Transfer events from the chain, except those of zero. A range that the node refuses is halved, within limits; `unread` are the
 * ranges refused even then. Throws `NodeFault`.
 */
export async function readTransfers(
  chain: Chain,
  { assets, recipients, senders }: Places,
  range: BlockRange,
): Promise<{ logs: Log[]; unread: BlockRange[] }> {
  const found = { logs: [] as Log[], unread: [] as BlockRange[] }
  const from = senders === undefined ? null : senders.map((sender) => pad(sender))
  let refusals = 0
  for (let at = 0; at < recipients.length; at += MAX_RECIPIENTS) {
    const to = recipients.slice(at, at + MAX_RECIPIENTS).map((recipient) => pad(recipient))
    const read = async (part: BlockRange): Promise<void> => {
      try {
        const logs = await chain.logs(assets, [TRANSFER_TOPIC, from, to], part.from, part.to)
        for (const log of logs) if (/[1-9a-f]/i.test(log.data.slice(2))) found.logs.push(log)
      } catch (error) {
        if (!isTooMuch(error)) throw error
        refusals += 1
        if (part.from === part.to || refusals > MAX_REFUSALS) return void found.unread.push(part)
        const middle = (part.from + part.to) / 2n
        await read({ from: part.from, to: middle })
        await read({ from: middle + 1n, to: part.to })
      }
    }
    await read(range)
  }
  return found
}
