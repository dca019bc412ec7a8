import type { Address, Hash, JsonObject, Network } from '@upfront/protocol'
import { and, asc, eq, inArray, min, sql } from 'drizzle-orm'
import { pad } from 'viem'
import type { Chain } from '../chain/chain.js'
import type { Chains } from '../chain/chains.js'
import type { Log } from '../chain/receipt.js'
import { TRANSFER_TOPIC } from '../chain/settlement-call.js'
import type { Database } from '../ledger/ledger.js'
import { type PaymentRow, payments, transfers } from '../ledger/schema.js'
import { findSettlement } from '../settle/outcome/find-settlement.js'
import { type PaymentFilter, whereOf } from './payment-filter.js'

const LOG_RANGE_BLOCKS = 2_000n
const PAGE = 500

/** Amounts in the token's smallest unit. */
interface Difference {
  kind: /** The ledger says settled; the chain has no such transfer. */
    | 'missing on chain'
    /** Both know it, with different amounts. */
    | 'amount differs'
    /** Moved on chain, and the ledger says that it did not. */
    | 'moved but not settled'
    /** Moved through the upto proxy to a payTo of the ledger, by an authorization that the ledger does not know. */
    | 'not in ledger'
  network: Network
  asset: Address
  payTo: Address
  paymentId: string | null
  state: string | null
  transaction: Hash | null
  ledgerAmount: string | null
  chainAmount: string | null
}

/**
 * Compares the ledger with the chain's Transfer events, both ways, for the payments of a filter. Payments that are under
 * way are counted, not compared. Throws `NodeFault`.
 */
export async function reconcile(db: Database, chains: Chains, filter: PaymentFilter): Promise<JsonObject> {
  const accounts = await db
    .select({
      network: payments.network,
      asset: payments.asset,
      payTo: payments.payTo,
      fromBlock: min(payments.authorizedBlock),
      open: sql<number>`(count(*) filter (where ${payments.state} in ('authorized', 'charging', 'submitted')))::int`,
      settled: sql<number>`(count(*) filter (where ${payments.state} = 'settled'))::int`,
    })
    .from(payments)
    .where(whereOf(filter))
    .groupBy(payments.network, payments.asset, payments.payTo)
  const differences: Difference[] = []
  for (const account of accounts) {
    const chain = chains.of(account.network)
    const fromBlock = BigInt(account.fromBlock ?? 0)
    const { number: toBlock } = await chain.head.refresh()
    const moved = await readTransfers(chain, account.asset, account.payTo, fromBlock, toBlock)
    differences.push(...(await compareSettled(db, filter, account, moved)))
    differences.push(...(await compareRest(db, chain, filter, account, moved)))
  }
  const count = (key: 'open' | 'settled') => accounts.reduce((total, account) => total + account[key], 0)
  return { settledPayments: count('settled'), openPayments: count('open'), differences }
}

type Account = { network: Network; asset: Address; payTo: Address }

/** Transfers by {@link keyOf}. */
type Moved = Map<string, Log>

function keyOf({ transactionHash, logIndex }: Pick<Log, 'transactionHash' | 'logIndex'>): string {
  return `${transactionHash}/${logIndex}`
}

async function readTransfers(
  chain: Chain,
  asset: Address,
  payTo: Address,
  fromBlock: bigint,
  toBlock: bigint,
): Promise<Moved> {
  const moved: Moved = new Map()
  for (let from = fromBlock; from <= toBlock; from += LOG_RANGE_BLOCKS) {
    const to = from + LOG_RANGE_BLOCKS - 1n < toBlock ? from + LOG_RANGE_BLOCKS - 1n : toBlock
    for (const log of await chain.logs(asset, [TRANSFER_TOPIC, null, pad(payTo)], from, to)) {
      moved.set(keyOf(log), log)
    }
  }
  return moved
}

/** Takes what it finds out of `moved`. */
async function compareSettled(
  db: Database,
  filter: PaymentFilter,
  account: Account,
  moved: Moved,
): Promise<Difference[]> {
  const differences: Difference[] = []
  const ofAccount = and(
    whereOf(filter),
    eq(payments.network, account.network),
    eq(payments.asset, account.asset),
    eq(payments.payTo, account.payTo),
    eq(payments.state, 'settled'),
  )
  let last = 0n
  for (;;) {
    const rows: PaymentRow[] = await db
      .select()
      .from(payments)
      .where(and(ofAccount, sql`${payments.sequence} > ${last}`))
      .orderBy(asc(payments.sequence))
      .limit(PAGE)
    const recorded = await readRecorded(db, rows)
    for (const row of rows) {
      const amount = take(moved, recorded.get(row.id) ?? [])
      if (amount === row.charge) continue
      differences.push(difference(amount === undefined ? 'missing on chain' : 'amount differs', account, row, amount))
    }
    const sequence = rows.at(-1)?.sequence
    if (rows.length < PAGE || sequence === undefined || sequence === null) return differences
    last = sequence
  }
}

type Recorded = { paymentId: string; transaction: Hash; logIndex: number }

/** Where the ledger saw the transfers of some payments, by payment, less what a reorganisation took back. */
async function readRecorded(db: Database, rows: readonly PaymentRow[]): Promise<Map<string, Recorded[]>> {
  const ids = rows.map(({ id }) => id)
  if (ids.length === 0) return new Map()
  const found: Recorded[] = await db
    .select({ paymentId: transfers.paymentId, transaction: transfers.transaction, logIndex: transfers.logIndex })
    .from(transfers)
    .where(inArray(transfers.paymentId, ids))
    .groupBy(transfers.paymentId, transfers.transaction, transfers.logIndex)
    .having(sql`sum(${transfers.amount}) > 0`)
  const byPayment = new Map<string, Recorded[]>()
  for (const one of found) byPayment.set(one.paymentId, [...(byPayment.get(one.paymentId) ?? []), one])
  return byPayment
}

/** What was moved there, taken out of `moved`; `undefined`: nothing. */
function take(moved: Moved, recorded: readonly Recorded[]): bigint | undefined {
  let amount: bigint | undefined
  for (const { transaction, logIndex } of recorded) {
    // Recorded before log indices were: a transaction of then settles one payment.
    const keys =
      logIndex >= 0 ? [`${transaction}/${logIndex}`] : [...moved.keys()].filter((key) => key.startsWith(transaction))
    for (const key of keys) {
      const log = moved.get(key)
      if (log === undefined) continue
      amount = (amount ?? 0n) + BigInt(log.data)
      moved.delete(key)
    }
  }
  return amount
}

/** Transfers that no settled payment of the filter accounts for. */
async function compareRest(
  db: Database,
  chain: Chain,
  filter: PaymentFilter,
  account: Account,
  moved: Moved,
): Promise<Difference[]> {
  const differences: Difference[] = []
  for (const log of moved.values()) {
    const found = await findSettlement(db, chain, log)
    if (found === null) continue
    const { transactionHash: hash } = log
    const amount = BigInt(log.data)
    const row = found.payment
    if (row === null) {
      const nothing = { id: null, state: null, transaction: hash, charge: null }
      if (isUnfiltered(filter)) differences.push(difference('not in ledger', account, nothing, amount))
    } else if (row.state !== 'settled' && row.state !== 'charging' && row.state !== 'submitted') {
      differences.push(difference('moved but not settled', account, { ...row, transaction: hash }, amount))
    }
  }
  return differences
}

/** Under a filter by payer, route, state or time, a transfer may belong to payments that were not asked for. */
function isUnfiltered({ payer, route, state, from, to }: PaymentFilter): boolean {
  return [payer, route, state, from, to].every((value) => value === undefined)
}

function difference(
  kind: Difference['kind'],
  { network, asset, payTo }: Account,
  row: { id: string | null; state: string | null; transaction: Hash | null; charge: bigint | null },
  amount: bigint | undefined,
): Difference {
  return {
    kind,
    network,
    asset,
    payTo,
    paymentId: row.id,
    state: row.state,
    transaction: row.transaction,
    ledgerAmount: row.charge?.toString() ?? null,
    chainAmount: amount?.toString() ?? null,
  }
}
