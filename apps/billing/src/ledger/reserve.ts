import { sql } from 'drizzle-orm'
import type { EventData } from './change-payment.js'
import type { Database, Transaction } from './ledger.js'
import { rowJson } from './row-json.js'
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

/** What is to be reserved. */
export interface Wanted {
  payment: NewPaymentRow
  /** `null`: nothing is stored; `reserved` says that it could be. */
  event: EventData | null
  /** The idempotency key that it was asked for under. */
  key: typeof idempotencyKeys.$inferInsert | null
  /** The payer's, smallest unit, as of `payment.authorizedBlock`. */
  holdings: { balance: bigint; allowance: bigint }
  sponsoring: Sponsoring
}

/**
 * Stores new payments with their first events, one after another, each where the payer's holdings cover it beside all other reservations;
 * and their keys. A payment with a permit stands alone, and costs at most what is left of the budget for it. Fails as {@link isKeyTaken} tells
 * where another call has taken the key: then nothing was stored.
 */
export async function reservePayments(db: Database | Transaction, wanted: readonly Wanted[]): Promise<Reservation[]> {
  const calls = wanted.map(({ payment, event, key, holdings, sponsoring }) => ({
    ...{ payment: rowJson(payments, payment), event, key: key && rowJson(idempotencyKeys, key) },
    ...{ balance: `${holdings.balance}`, allowance: `${holdings.allowance}`, most: `${sponsoring.most}` },
    ...{ wei: `${sponsoring.weiPerToken}`, units: `${10n ** BigInt(sponsoring.decimals)}` },
  }))
  const rows = await db
    .select({
      id: sql<string>`payment ->> 'id'`,
      outcome: sql<Reservation['outcome']>`outcome`,
      reserved: sql<string>`reserved`,
      place: sql<string | null>`place`,
    })
    .from(
      sql`jsonb_to_recordset(${JSON.stringify(calls)}::jsonb) as call(payment jsonb, event jsonb, key jsonb, balance numeric,
          allowance numeric, most numeric, wei numeric, units numeric),
        lateral reserve_payment(payment, event, key, balance, allowance, most, wei / units)`,
    )
  const found = new Map(rows.map((row) => [row.id, row]))
  return wanted.map(({ payment: { id } }) => {
    const row = found.get(id)
    if (row === undefined) throw new Error('a reservation without an outcome')
    const { outcome, reserved, place } = row
    return { outcome, reserved: BigInt(reserved), sequence: place === null ? null : BigInt(place) }
  })
}

const UNIQUE_VIOLATION = '23505'

/** Whether another call has taken the idempotency key: nothing was written. */
export function isKeyTaken(error: unknown): boolean {
  const cause =
    error instanceof Error ? (error.cause as { code?: unknown; constraint?: unknown } | undefined) : undefined
  return cause?.code === UNIQUE_VIOLATION && cause.constraint === 'idempotency_keys_pkey'
}
