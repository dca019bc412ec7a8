import { getTableColumns, sql, type Table } from 'drizzle-orm'
import type { EventData } from './change-payment.js'
import type { Database, Transaction } from './ledger.js'
import { idempotencyKeys, type NewPaymentRow, payments } from './schema.js'

/** What bounds the gas that is paid for a payer. */
export interface Sponsoring {
  /** Wei in 24 hours, beside what the payer's settled charges are worth. */
  most: bigint
  /** What one of the token is worth in wei. */
  weiPerToken: bigint
  decimals: number
}

export interface Reservation {
  /**
   * `used`: the authorization was before. `uncovered`: balance or allowance does not cover it. `overspent`: its permit, or the payer's
   * code, takes more gas than is sponsored and paid for. Then nothing was stored.
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
  sponsoring: Sponsoring,
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
          ${sponsoring.most.toString()}::numeric, ${weiPerUnit(sponsoring)})`,
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

/**
 * Wei that permits and code of the payer have cost in 24 hours in this token, or may cost yet, less what its settled charges are worth; below 0
 * where these are worth more.
 */
export async function readSponsored(
  db: Database,
  { network, asset, payer }: Pick<NewPaymentRow, 'network' | 'asset' | 'payer'>,
  sponsoring: Sponsoring,
): Promise<bigint> {
  const amount = sql<string>`sponsored_gas(${network}, ${asset}, ${payer}, ${weiPerUnit(sponsoring)})`
  const [row] = await db.select({ amount }).from(sql`(select 1) as one`)
  return BigInt(row?.amount ?? 0)
}

function weiPerUnit({ weiPerToken, decimals }: Sponsoring) {
  return sql`${weiPerToken.toString()}::numeric / ${(10n ** BigInt(decimals)).toString()}::numeric`
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
