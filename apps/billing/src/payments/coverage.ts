import { RefusalReason } from '@upfront/protocol'
import { and, eq, sql } from 'drizzle-orm'
import type { Database, Transaction } from '../ledger/database.js'
import { type PaymentRow, payments } from '../ledger/schema.js'
import type { Holdings } from '../verify/verify.js'

type Account = Pick<PaymentRow, 'network' | 'asset' | 'payer'>

/** Makes the reservations of one payer and token happen one after another, until the transaction ends. */
export async function lockAccount(tx: Transaction, { network, asset, payer }: Account): Promise<void> {
  await tx.execute(sql`select pg_advisory_xact_lock(hashtextextended(${`${network}/${asset}/${payer}`}, 402))`)
}

/**
 * What may still be taken from the payer's holdings, in the token's smallest unit: the maximum of each authorized payment
 * and the charge of each that is under way. A settlement after `holdings.block` counts too, as the balance may have been
 * read before it.
 */
async function reserved(db: Database | Transaction, account: Account, block: bigint): Promise<bigint> {
  const ofAccount = and(
    eq(payments.network, account.network),
    eq(payments.asset, account.asset),
    eq(payments.payer, account.payer),
  )
  const amount = sql`coalesce(${payments.charge}, ${payments.maximum})`
  const [row] = await db
    .select({
      total: sql<string>`
      (select coalesce(sum(${amount}), 0) from ${payments}
        where ${ofAccount} and ${payments.state} in ('authorized', 'charging', 'submitted')
        and (${payments.blockNumber} is null or ${payments.blockNumber} > ${block}))
      +
      (select coalesce(sum(${amount}), 0) from ${payments}
        where ${ofAccount} and ${payments.state} = 'settled' and ${payments.blockNumber} > ${block})`,
    })
    .from(sql`(select 1) as one`)
  return BigInt(row?.total ?? 0)
}

/** `null`: holdings cover `maximum` beside everything reserved. Otherwise the x402 reason. */
export async function findShortfall(
  db: Database | Transaction,
  account: Account,
  maximum: bigint,
  holdings: Holdings,
): Promise<{ reason: string; message: string } | null> {
  const open = await reserved(db, account, holdings.block)
  if (open === 0n) return null
  const message = (held: bigint) => `${maximum} is asked, ${open} of ${held} is reserved by other payments`
  if (holdings.balance < open + maximum) {
    return { reason: RefusalReason.insufficientBalance, message: message(holdings.balance) }
  }
  if (holdings.allowance < open + maximum) {
    return { reason: RefusalReason.allowanceRequired, message: message(holdings.allowance) }
  }
  return null
}
