import type { Address, Hash, JsonObject, Network } from '@upfront/protocol'
import { and, asc, eq, min, sql } from 'drizzle-orm'
import { pad } from 'viem'
import type { Chain } from '../chain/chain.js'
import type { Chains } from '../chain/chains.js'
import { decodeSettlement, TRANSFER_TOPIC, UPTO_PROXY } from '../chain/settlement-call.js'
import { findPayment } from '../ledger/find-payment.js'
import type { Database } from '../ledger/ledger.js'
import { type PaymentRow, payments } from '../ledger/schema.js'
import { type PaymentFilter, whereOf } from './payment-filter.js'

const LOG_RANGE_BLOCKS = 2_000n
const PAGE = 500

/** Amounts in the token's smallest unit. */
export interface Difference {
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

async function readTransfers(
  chain: Chain,
  asset: Address,
  payTo: Address,
  fromBlock: bigint,
  toBlock: bigint,
): Promise<Map<Hash, bigint>> {
  const moved = new Map<Hash, bigint>()
  for (let from = fromBlock; from <= toBlock; from += LOG_RANGE_BLOCKS) {
    const to = from + LOG_RANGE_BLOCKS - 1n < toBlock ? from + LOG_RANGE_BLOCKS - 1n : toBlock
    for (const log of await chain.logs(asset, [TRANSFER_TOPIC, null, pad(payTo)], from, to)) {
      moved.set(log.transactionHash, (moved.get(log.transactionHash) ?? 0n) + BigInt(log.data))
    }
  }
  return moved
}

/** Takes what it finds out of `moved`. */
async function compareSettled(
  db: Database,
  filter: PaymentFilter,
  account: Account,
  moved: Map<Hash, bigint>,
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
    for (const row of rows) {
      const amount = row.transaction === null ? undefined : moved.get(row.transaction)
      if (row.transaction !== null) moved.delete(row.transaction)
      if (amount === row.charge) continue
      differences.push(difference(amount === undefined ? 'missing on chain' : 'amount differs', account, row, amount))
    }
    const sequence = rows.at(-1)?.sequence
    if (rows.length < PAGE || sequence === undefined || sequence === null) return differences
    last = sequence
  }
}

/** Transfers that no settled payment of the filter accounts for. */
async function compareRest(
  db: Database,
  chain: Chain,
  filter: PaymentFilter,
  account: Account,
  moved: Map<Hash, bigint>,
): Promise<Difference[]> {
  const differences: Difference[] = []
  for (const [hash, amount] of moved) {
    const transaction = await chain.transaction(hash)
    const settlement = transaction?.to === UPTO_PROXY ? decodeSettlement(transaction.input) : null
    if (settlement === null) continue
    const row = await findPayment(db, account.network, settlement.payer, settlement.nonce)
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
