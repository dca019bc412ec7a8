import type { Address, Hash, Network } from '@upfront/protocol'
import { and, eq, gte, lte, type SQL, sql } from 'drizzle-orm'
import { pad } from 'viem'
import type { Chain } from '../../chain/chain.js'
import { isTooMuch } from '../../chain/node-error.js'
import type { Log } from '../../chain/receipt.js'
import { TRANSFER_TOPIC } from '../../chain/settlement-call.js'
import type { Database } from '../../ledger/ledger.js'
import { payments, transfers } from '../../ledger/schema.js'

/** Recipients in one request. */
const MOST_RECIPIENTS = 100
/** In one range: a node that refuses everything is not asked for each block. */
const MOST_REFUSALS = 64

/** A transfer as the ledger has it, less what was taken back. Smallest unit. */
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

/** Blocks, both included. */
export interface BlockRange {
  from: bigint
  to: bigint
}

/** Where to look: the tokens and recipients of the payments that `where` says. */
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

/** The transfers that the ledger has in these blocks, of the payments that `where` says. */
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

/** Where to look for transfers; of any sender unless `senders` are given. */
export interface Places {
  assets: readonly Address[]
  recipients: readonly Address[]
  senders?: readonly Address[]
}

/**
 * The chain's transfers, but those of nothing. A range that the node refuses is asked for in halves, within bounds; `unread` are those
 * that it refuses all the same. Throws `NodeFault`.
 */
export async function readTransfers(
  chain: Chain,
  { assets, recipients, senders }: Places,
  range: BlockRange,
): Promise<{ logs: Log[]; unread: BlockRange[] }> {
  const found = { logs: [] as Log[], unread: [] as BlockRange[] }
  const from = senders === undefined ? null : senders.map((sender) => pad(sender))
  let refusals = 0
  for (let at = 0; at < recipients.length; at += MOST_RECIPIENTS) {
    const to = recipients.slice(at, at + MOST_RECIPIENTS).map((recipient) => pad(recipient))
    const read = async (part: BlockRange): Promise<void> => {
      try {
        const logs = await chain.logs(assets, [TRANSFER_TOPIC, from, to], part.from, part.to)
        for (const log of logs) if (/[1-9a-f]/i.test(log.data.slice(2))) found.logs.push(log)
      } catch (error) {
        if (!isTooMuch(error)) throw error
        refusals += 1
        if (part.from === part.to || refusals > MOST_REFUSALS) return void found.unread.push(part)
        const middle = (part.from + part.to) / 2n
        await read({ from: part.from, to: middle })
        await read({ from: middle + 1n, to: part.to })
      }
    }
    await read(range)
  }
  return found
}
