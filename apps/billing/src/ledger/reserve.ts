import { getTableColumns, sql, type Table } from 'drizzle-orm'
import type { Chain } from '../chain/chain.js'
import type { EventData } from './change-payment.js'
import type { Database, Transaction } from './ledger.js'
import { idempotencyKeys, type NewPaymentRow, payments } from './schema.js'

export interface Reservation {
  /**
   * `used`: the authorization was before. `uncovered`: balance or allowance does not cover it. `overspent`: its permit is
   * not sponsored today. Then nothing was stored.
   */
  outcome: 'reserved' | 'used' | 'uncovered' | 'overspent'
  /** What the payer's other payments had reserved, in the token's smallest unit. */
  reserved: bigint
  /** The new row's; `null` where nothing was stored. */
  sequence: bigint | null
}

/**
 * Stores a new payment with its first event, where the payer's holdings (smallest unit, as of `payment.authorizedBlock`)
 * cover it beside all other reservations; and `key`, the idempotency key that it was asked for under. A payment with a permit
 * stands alone, and costs at most what is left of the budget for it. Throws {@link KeyTaken}.
 */
export async function reservePayment(
  db: Database | Transaction,
  payment: NewPaymentRow,
  event: EventData,
  key: typeof idempotencyKeys.$inferInsert | null,
  holdings: { balance: bigint; allowance: bigint },
  { dailySponsoredGas }: Pick<Chain, 'dailySponsoredGas'>,
): Promise<Reservation> {
  try {
    const [row] = await db
      .select({
        outcome: sql<Reservation['outcome']>`outcome`,
        reserved: sql<string>`reserved`,
        place: sql<string | null>`place`,
      })
      .from(
        sql`reserve_payment(
          ${toJson(payments, payment)}::jsonb, ${JSON.stringify(event)}::jsonb,
          ${key === null ? null : toJson(idempotencyKeys, key)}::jsonb,
          ${holdings.balance.toString()}::numeric, ${holdings.allowance.toString()}::numeric,
          ${(dailySponsoredGas ?? 0n).toString()}::numeric)`,
      )
    if (row === undefined) throw new Error('a reservation without an outcome')
    const { outcome, reserved, place } = row
    return { outcome, reserved: BigInt(reserved), sequence: place === null ? null : BigInt(place) }
  } catch (error) {
    if (isKeyTaken(error)) throw new KeyTaken()
    throw error
  }
}

/** What {@link reservePayment} would find reserved, smallest unit. */
export async function readReserved(
  db: Database,
  { network, asset, payer }: Pick<NewPaymentRow, 'network' | 'asset' | 'payer'>,
  asOfBlock: bigint,
): Promise<bigint> {
  const amount = sql<string>`reserved_amount(${network}, ${asset}, ${payer}, ${asOfBlock.toString()}::bigint)`
  const [row] = await db.select({ amount }).from(sql`(select 1) as one`)
  return BigInt(row?.amount ?? 0)
}

/** Wei that permits of the payer in this token have cost in 24 hours, or may cost yet. */
export async function readSponsored(
  db: Database,
  { network, asset, payer }: Pick<NewPaymentRow, 'network' | 'asset' | 'payer'>,
): Promise<bigint> {
  const amount = sql<string>`sponsored_gas(${network}, ${asset}, ${payer})`
  const [row] = await db.select({ amount }).from(sql`(select 1) as one`)
  return BigInt(row?.amount ?? 0)
}

/** Another call has taken the idempotency key: nothing was written. */
export class KeyTaken extends Error {
  override readonly name = 'KeyTaken'
}

const UNIQUE_VIOLATION = '23505'

export function isKeyTaken(error: unknown): boolean {
  const cause =
    error instanceof Error ? (error.cause as { code?: unknown; constraint?: unknown } | undefined) : undefined
  return cause?.code === UNIQUE_VIOLATION && cause.constraint === 'idempotency_keys_pkey'
}

/** A row as JSON, by the names of its columns. */
function toJson(table: Table, row: Record<string, unknown>): string {
  const columns = Object.entries(getTableColumns(table)).map(([field, { name }]) => [name, row[field] ?? null])
  return JSON.stringify(Object.fromEntries(columns), (_, value: unknown) =>
    typeof value === 'bigint' ? value.toString() : value,
  )
}
